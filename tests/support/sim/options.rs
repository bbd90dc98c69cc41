//! The options of a schedule: clients, watches, workload and possible faults. All of them follow from
//! its seed.

use crate::dice::Dice;
use hindsight_core::GroupResource;
use hindsight_gc::BATCH_STEPS_MAX;

/// Changes in a window that is so large that no watch falls out of it.
const WINDOW_MAX: usize = 1000;

/// A part that is broken on purpose, to show that a checker sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bug {
    /// The disk reports a sync that it did not do.
    SyncDoesNothing,
    /// A power cut loses the last synced frame.
    SyncedFrameLost,
    /// The log is thinned although the note of its end is not durable.
    NoteLags,
    /// A fold that forgets removals.
    ApplyForgets,
    /// A watch that loses an event now and then.
    WatchLoses,
    /// A watch that receives some events twice.
    WatchRepeats,
    /// Reads that are answered from an older state.
    StaleRead,
    /// Reads that show the newest version with the contents of the one before.
    ReadShowsOlder,
    /// A watch that shows some changes with the contents from before them.
    WatchShowsOlder,
    /// An answer to a write that shows the contents from before it.
    AnswerShowsOlder,
    /// A dry run that is decided at another time.
    DryRunGuesses,
    /// A collector whose last step of each batch is never submitted.
    CollectorStops,
    /// A collector that treats commands that were turned away as decided.
    CollectorForgets,
    /// A restore after which revisions go on where the backup ended.
    RestoreRepeats,
    /// A watch that goes on from before a restore.
    WatchResumes,
}

impl Bug {
    /// Every bug.
    pub const ALL: [Self; 15] = [
        Self::SyncDoesNothing,
        Self::SyncedFrameLost,
        Self::NoteLags,
        Self::ApplyForgets,
        Self::WatchLoses,
        Self::WatchRepeats,
        Self::StaleRead,
        Self::ReadShowsOlder,
        Self::WatchShowsOlder,
        Self::AnswerShowsOlder,
        Self::DryRunGuesses,
        Self::CollectorStops,
        Self::CollectorForgets,
        Self::RestoreRepeats,
        Self::WatchResumes,
    ];
}

/// The options of one schedule, all but its steps.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// Everything else follows from it.
    pub seed: u64,
    /// How many steps there are before the faults end.
    pub steps: u64,
    /// What is broken on purpose.
    pub bug: Option<Bug>,
    /// How many clients send requests.
    pub clients: usize,
    /// How many watches there are.
    pub watchers: usize,
    /// How many changes the window keeps.
    pub window: usize,
    /// How many steps are in a batch of the collector.
    pub collected_at_once: usize,
    /// Namespaces are deleted too.
    pub namespaces: bool,
    /// A kind is defined and deleted too.
    pub definitions: bool,
    /// Jobs finish, and go after a while.
    pub jobs: bool,
    /// Objects are so large that two of them do not fit into a frame.
    pub large: bool,
    /// Frames are so small that a batch takes several.
    pub small_frames: bool,
    /// What may go wrong.
    pub faults: Faults,
    /// Every commit to a config map is kept when the log is thinned.
    pub keeps_maps: bool,
    /// Every commit to a priority class, a namespace or a job is kept when the log is thinned.
    pub keeps_others: bool,
}

/// Which faults a schedule may have. Each is off in half of them: some defects only show where
/// nothing else is wrong.
#[derive(Debug, Clone, Copy)]
pub struct Faults {
    /// The power fails.
    pub cuts: bool,
    /// The process is killed.
    pub kills: bool,
    /// A cut leaves a part of a frame.
    pub torn: bool,
    /// A cut leaves later frames and not an earlier one.
    pub lost: bool,
    /// Bits flip on the disk.
    pub rot: bool,
    /// The disk refuses a write or a sync.
    pub refusals: bool,
    /// The disk refuses a read.
    pub unreadable: bool,
    /// The disk is full.
    pub full: bool,
    /// The disk is slow.
    pub slow: bool,
    /// The clock jumps.
    pub clock: bool,
    /// Watchers stall.
    pub stalls: bool,
    /// Snapshots are taken, and started from.
    pub snapshots: bool,
    /// The beginning of the log is thinned.
    pub prunes: bool,
    /// Submissions are turned away, as if too much waited.
    pub overload: bool,
    /// Backups are made and restored.
    pub restores: bool,
}

impl Options {
    /// The options of this seed.
    pub fn of(seed: u64, steps: u64) -> Self {
        let mut dice = Dice(seed.wrapping_mul(0x2545_f491_4f6c_dd1d));
        let mut on = || dice.roll(2) == 0;
        let faults = Faults {
            cuts: on(),
            kills: on(),
            torn: on(),
            lost: on(),
            rot: on(),
            refusals: on(),
            unreadable: on(),
            full: on(),
            slow: on(),
            clock: on(),
            stalls: on(),
            snapshots: on(),
            prunes: on(),
            overload: on(),
            restores: false,
        };
        Self {
            seed,
            steps,
            bug: None,
            clients: dice.pick(&[1, 2, 3, 5]),
            watchers: dice.pick(&[1, 2, 4]),
            window: dice.pick(&[1, 4, 16, 64, WINDOW_MAX]),
            collected_at_once: dice.pick(&[1, 2, BATCH_STEPS_MAX]),
            namespaces: dice.roll(3) == 0,
            definitions: dice.roll(3) == 0,
            jobs: dice.roll(3) == 0,
            large: dice.roll(32) == 0,
            small_frames: dice.roll(4) == 0,
            faults: Faults {
                restores: dice.roll(2) == 0,
                ..faults
            },
            keeps_maps: dice.roll(4) == 0,
            keeps_others: dice.roll(4) == 0,
        }
    }

    /// The smallest options: one client, one watch, no faults.
    pub fn plain() -> Self {
        let none = Faults {
            cuts: false,
            kills: false,
            torn: false,
            lost: false,
            rot: false,
            refusals: false,
            unreadable: false,
            full: false,
            slow: false,
            clock: false,
            stalls: false,
            snapshots: false,
            prunes: false,
            overload: false,
            restores: false,
        };
        Self {
            seed: 1,
            steps: 0,
            bug: None,
            clients: 1,
            watchers: 1,
            window: WINDOW_MAX,
            collected_at_once: BATCH_STEPS_MAX,
            namespaces: false,
            definitions: false,
            jobs: false,
            large: false,
            small_frames: false,
            faults: none,
            keeps_maps: false,
            keeps_others: false,
        }
    }

    /// How much these options have beyond [`Options::plain`].
    pub fn weight(&self) -> usize {
        let mut copy = *self;
        let flags = copy.flags().iter().filter(|(_, is_on)| **is_on).count();
        let bounds = usize::from(self.window != WINDOW_MAX)
            + usize::from(self.collected_at_once != BATCH_STEPS_MAX);
        self.clients + self.watchers + flags + bounds
    }

    /// The same options with a part broken on purpose.
    #[must_use]
    pub const fn with(mut self, bug: Bug) -> Self {
        self.bug = Some(bug);
        self
    }

    /// The options that are on or off, by the word that a script uses for each.
    pub fn flags(&mut self) -> [(&'static str, &mut bool); 9] {
        [
            ("namespaces", &mut self.namespaces),
            ("definitions", &mut self.definitions),
            ("jobs", &mut self.jobs),
            ("large", &mut self.large),
            ("small-frames", &mut self.small_frames),
            ("torn", &mut self.faults.torn),
            ("lost", &mut self.faults.lost),
            ("keeps-maps", &mut self.keeps_maps),
            ("keeps-others", &mut self.keeps_others),
        ]
    }

    /// The kinds of which every commit is kept when the log is thinned.
    pub fn kept_kinds(&self) -> Vec<GroupResource> {
        let maps = self
            .keeps_maps
            .then(|| GroupResource::new("", "configmaps"));
        let others = [
            ("scheduling.k8s.io", "priorityclasses"),
            ("", "namespaces"),
            ("batch", "jobs"),
        ];
        let others = others.iter().filter(|_| self.keeps_others);
        let others = others.map(|(group, resource)| GroupResource::new(group, resource));
        maps.into_iter().chain(others).collect()
    }

    /// Whether this part is broken on purpose.
    pub fn has(&self, bug: Bug) -> bool {
        self.bug == Some(bug)
    }
}
