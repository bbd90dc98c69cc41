//! File systems that a test may fill or cut off. They need root, or sudo without a password.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

/// `FS_IOC_SHUTDOWN` with `NOLOGFLUSH`: what has not reached the disk yet never does. When it is told to.
const CUT: &str = "import fcntl, os, struct, sys
place = os.open(sys.argv[1], os.O_RDONLY)
print('armed', flush=True)
sys.stdin.readline()
fcntl.ioctl(place, 0x8004587d, struct.pack('I', 2))";

/// A mounted file system. Unmounted when dropped.
#[derive(Debug)]
pub struct Disk {
    mount_point: PathBuf,
    /// Several if it keeps mirrors.
    devices: Vec<String>,
}

impl Disk {
    /// Mounts a file system in memory, of this size in MiB; `None` if this machine does not allow it.
    pub fn in_memory(mount_point: &Path, mib: u64) -> Option<Self> {
        std::fs::create_dir_all(mount_point).ok()?;
        let size = format!("size={mib}m");
        let place = mount_point.to_str()?;
        as_root(&["mount", "-t", "tmpfs", "-o", &size, "hindsight", place])?;
        let disk = Self {
            mount_point: mount_point.to_owned(),
            devices: Vec::new(),
        };
        disk.take_ownership()?;
        Some(disk)
    }

    /// Mounts ext4 on a file of this size in MiB; `None` if this machine does not allow it.
    pub fn on_a_file(mount_point: &Path, mib: u64) -> Option<Self> {
        Self::made_by(&["mkfs.ext4", "-q", "-F"], mount_point, mib)
    }

    /// Mounts btrfs, which writes a copy of what is overwritten, on such a file.
    pub fn copying_on_a_file(mount_point: &Path, mib: u64) -> Option<Self> {
        Self::made_by(&["mkfs.btrfs", "-q", "-f"], mount_point, mib)
    }

    /// Mounts btrfs with a mirror of everything: on two files of this size, which are at [`Disk::mirrors`].
    pub fn mirrored_on_files(mount_point: &Path, mib: u64) -> Option<Self> {
        let make = ["mkfs.btrfs", "-q", "-f", "-m", "raid1", "-d", "raid1"];
        Self::made_on(&make, mount_point, &Self::mirrors(mount_point), mib)
    }

    /// The files of a mirrored disk.
    pub fn mirrors(mount_point: &Path) -> [PathBuf; 2] {
        ["first", "second"].map(|name| mount_point.with_extension(name))
    }

    fn made_by(make: &[&str], mount_point: &Path, mib: u64) -> Option<Self> {
        let image = mount_point.with_extension("image");
        Self::made_on(make, mount_point, &[image], mib)
    }

    fn made_on(make: &[&str], mount_point: &Path, images: &[PathBuf], mib: u64) -> Option<Self> {
        std::fs::create_dir_all(mount_point).ok()?;
        let mut disk = Self {
            mount_point: mount_point.to_owned(),
            devices: Vec::new(),
        };
        for image in images {
            let file = std::fs::File::create(image).ok()?;
            file.set_len(mib << 20).ok()?;
            let found = as_root(&["losetup", "--find", "--show", image.to_str()?])?;
            let device = String::from_utf8(found.stdout).ok()?;
            disk.devices.push(device.trim().to_owned());
        }
        let devices: Vec<&str> = disk.devices.iter().map(String::as_str).collect();
        as_root(&[make, devices.as_slice()].concat())?;
        disk.mount()?;
        disk.take_ownership()?;
        Some(disk)
    }

    /// Mounts a directory read-only in another place.
    pub fn read_only_bind_mount(directory: &Path, mount_point: &Path) -> Option<Self> {
        std::fs::create_dir_all(mount_point).ok()?;
        let disk = Self::bind_mount(directory, mount_point)?;
        as_root(&["mount", "-o", "remount,bind,ro", disk.place()])?;
        Some(disk)
    }

    /// Mounts a directory or a file on another.
    pub fn bind_mount(mounted: &Path, mount_point: &Path) -> Option<Self> {
        as_root(&["mount", "--bind", mounted.to_str()?, mount_point.to_str()?])?;
        Some(Self {
            mount_point: mount_point.to_owned(),
            devices: Vec::new(),
        })
    }

    /// Resizes a file system in memory.
    pub fn resize(&self, mib: u64) {
        let options = format!("remount,size={mib}m");
        let place = self.place();
        as_root(&["mount", "-o", &options, place]).expect("it is resized");
    }

    /// Limits a file system in memory to this number of files.
    pub fn limit_inodes(&self, count: u64) {
        let options = format!("remount,nr_inodes={count}");
        let place = self.place();
        as_root(&["mount", "-o", &options, place]).expect("it holds as many");
    }

    /// Remounts it read-only, which works once nobody has it open for writing.
    pub fn remount_read_only(&self) {
        as_root(&["mount", "-o", "remount,ro", self.place()]).expect("it is mounted again");
    }

    /// Cuts the power: what was not synced, and what is written from here on, is lost.
    pub fn cut_power(&self) {
        self.armed().cut_power();
    }

    /// Prepares to cut the power without a delay.
    pub fn armed(&self) -> Armed {
        let command = root_command(&["python3", "-c", CUT, self.place()]);
        let mut process = command
            .expect("root")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("python3 starts");
        let stdout = process.stdout.take().expect("a pipe");
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line).expect("a line");
        assert_eq!(line, "armed\n", "the file system cannot be cut off");
        Armed(process)
    }

    /// Unmounts it once nobody uses it, and mounts what the disk kept.
    pub fn remount(&self) {
        self.remount_after(|| {});
    }

    /// The same, and does something to the disk in between.
    pub fn remount_after(&self, done: impl FnOnce()) {
        let unmounted = (0..200).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(20));
            as_root(&["umount", self.place()]).is_some()
        });
        assert!(unmounted, "{} stays busy", self.mount_point.display());
        done();
        self.mount().expect("it is mounted again");
    }

    fn mount(&self) -> Option<Output> {
        as_root(&["mount", self.devices.first()?, self.place()])
    }

    fn take_ownership(&self) -> Option<Output> {
        let user = Command::new("id").arg("-u").output().ok()?.stdout;
        let user = String::from_utf8(user).ok()?;
        as_root(&["chown", user.trim(), self.place()])
    }

    fn place(&self) -> &str {
        self.mount_point.to_str().expect("a path of text")
    }
}

/// A process that is about to cut the power of a disk.
#[derive(Debug)]
pub struct Armed(Child);

impl Armed {
    /// As [`Disk::cut_power`].
    pub fn cut_power(mut self) {
        drop(self.0.stdin.take());
        let status = self.0.wait().expect("it ends");
        assert!(status.success(), "the file system is not cut off");
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        as_root(&["umount", "--lazy", self.place()]);
        for device in &self.devices {
            as_root(&["losetup", "--detach", device]);
        }
    }
}

/// Takes every block that is left of the file system that this directory is on; returns the file that does.
pub fn fill(directory: &Path) -> PathBuf {
    let path = directory.join("filling");
    let mut options = std::fs::File::options();
    let file = options.create(true).append(true).open(&path);
    let mut file = file.expect("made");
    let chunk = vec![1; 4096];
    while std::io::Write::write_all(&mut file, &chunk).is_ok() {}
    path
}

/// Prints to standard error that something was not tested, even if the test's output is captured.
/// Fails if `HINDSIGHT_NO_SKIPS` is set, as it is in continuous integration.
///
/// # Panics
///
/// If `HINDSIGHT_NO_SKIPS` is set.
pub fn skipped(what: &str, why: &str) {
    let is_failure = std::env::var_os("HINDSIGHT_NO_SKIPS").is_some_and(|set| !set.is_empty());
    assert!(!is_failure, "{what} is not tested: {why}");
    print_skipped(what, why);
}

/// Prints that something was not tested, and never fails: for what no machine can help, such as a
/// clone without its history.
pub fn print_skipped(what: &str, why: &str) {
    use std::io::Write;
    let mut terminal = std::io::stderr();
    writeln!(terminal, "\nSKIPPED: {what}: {why}\n").expect("a terminal");
}

/// Runs a command as root and returns its output, if it succeeded.
fn as_root(command: &[&str]) -> Option<Output> {
    let output = root_command(command)?.output().ok()?;
    output.status.success().then_some(output)
}

fn root_command(command: &[&str]) -> Option<Command> {
    let is_root = Command::new("id").arg("-u").output().ok()?.stdout == b"0\n";
    let mut words = vec!["sudo", "-n"];
    if is_root {
        words.clear();
    }
    words.extend(command);
    let (program, arguments) = words.split_first()?;
    let mut command = Command::new(program);
    command.args(arguments);
    Some(command)
}
