//! Watches that have nothing to send, and what happens just then.

use super::*;
use tokio::runtime::Builder;
use tokio::sync::oneshot;

/// Time passes here only once there is nothing to do: a watch that is not woken would tell of it at its end, or never.
#[test]
fn what_happens_between_the_look_of_a_watch_and_its_wait_is_told_at_once() {
    let fake = Arc::new(Fake::new());
    fake.move_to(Revision(5));
    let api = Api::new(Arc::clone(&fake) as _, Arc::new(Admission::default()));
    // As on a server, the relay goes on while the watch is looking.
    let other = Builder::new_current_thread().build().expect("a runtime");
    let relayed = {
        let _other = other.enter();
        api.relay.subscribe(&*api.backend)
    };
    let (end, ended) = oneshot::channel::<()>();
    let relaying = std::thread::spawn(move || other.block_on(ended).is_err());
    let happening = Arc::clone(&fake);
    let happens = move || {
        happening.happens(&object(6, 1));
        while !relayed.has_changed().expect("it goes on") {
            std::thread::yield_now();
        }
    };
    *fake.once_looked.lock().expect("a lock") = Some(Box::new(happens));
    let path = "/api/v1/configmaps?watch=1&resourceVersion=5";
    paused().block_on(async {
        let begun = Instant::now();
        let answer = api.handle(get(path), Some(Arc::new(administrator()))).await;
        let seen = first_frame(&mut answer.into_body()).await;
        assert!(seen.contains("\"c6\""), "{seen}");
        assert_eq!(begun.elapsed(), Duration::ZERO);
    });
    drop(end);
    assert!(relaying.join().expect("it has ended"));
}
