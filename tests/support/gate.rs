//! Stands between a client and a server, and holds an answer back until it is opened.

use crate::wait::wait_until;
use std::io::{Read, Result, copy};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::net::TcpSocket;
use tokio::runtime::Builder;

/// How much a server may send over a connection before the gate is opened: more than a handshake and
/// a short answer.
const PASSED_BYTES: u64 = 256 << 10;
/// How much is received of what does not pass yet. Left to itself, the system may take tens of megabytes.
const RECEIVED_BYTES: u32 = 64 << 10;

/// Passes on what clients and a server send each other, but only the beginning of a long answer until it
/// is opened.
#[derive(Debug)]
pub struct Gate {
    address: SocketAddr,
    signs: Arc<Signs>,
}

#[derive(Debug, Default)]
struct Signs {
    is_reached: AtomicBool,
    is_open: AtomicBool,
}

impl Gate {
    /// A shut gate before the server at this address.
    pub fn before(server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let gate = Self {
            address: listener.local_addr().expect("an address"),
            signs: Arc::default(),
        };
        let signs = Arc::clone(&gate.signs);
        std::thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let signs = Arc::clone(&signs);
                std::thread::spawn(move || signs.connect(&client, server).ok());
            }
        });
        gate
    }

    /// Where clients find it.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Waits until it holds something back.
    pub fn wait(&self) {
        let is_reached = || self.signs.is_reached.load(Ordering::SeqCst);
        wait_until("an answer", is_reached);
    }

    /// From now on everything passes.
    pub fn open(&self) {
        self.signs.is_open.store(true, Ordering::SeqCst);
    }
}

impl Signs {
    fn connect(&self, client: &TcpStream, server: SocketAddr) -> Result<()> {
        let server = &connected(server)?;
        std::thread::scope(|scope| {
            scope.spawn(|| {
                copy(&mut &*client, &mut &*server).ok();
                server.shutdown(Shutdown::Write).ok();
            });
            self.pass(server, client).ok();
            client.shutdown(Shutdown::Write).ok();
        });
        Ok(())
    }

    fn pass(&self, mut server: &TcpStream, mut client: &TcpStream) -> Result<u64> {
        let passed = copy(&mut server.take(PASSED_BYTES), &mut client)?;
        let is_open = || self.is_open.load(Ordering::SeqCst);
        if passed == PASSED_BYTES && !is_open() {
            self.is_reached.store(true, Ordering::SeqCst);
            wait_until("the gate opens", is_open);
        }
        copy(&mut server, &mut client)
    }
}

fn connected(server: SocketAddr) -> Result<TcpStream> {
    let socket = TcpSocket::new_v4()?;
    socket.set_recv_buffer_size(RECEIVED_BYTES)?;
    let runtime = Builder::new_current_thread().enable_io().build()?;
    let stream = runtime.block_on(socket.connect(server))?.into_std()?;
    stream.set_nonblocking(false)?;
    Ok(stream)
}
