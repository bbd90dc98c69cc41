//! Watches that end: with their server, or with an error.

use super::*;

#[test]
fn watches_end_once_they_are_told_to_whatever_they_have_to_send() {
    let fake = Arc::new(Fake::new());
    (1..=3).for_each(|at| drop(fake.put(&object(at, 64 << 10))));
    let api = Api::new(Arc::clone(&fake) as _, Arc::new(Admission::default()));
    paused().block_on(async {
        let open = async |path| {
            let answer = api.handle(get(path), Some(Arc::new(administrator()))).await;
            answer.into_body()
        };
        let mut busy = open(FROM_NOWHERE[0]).await;
        first_frame(&mut busy).await;
        let mut silent = open("/api/v1/configmaps?watch=1&resourceVersion=3").await;
        let ends = async { silent.frame().await.is_none() };
        let stops = async {
            tokio::task::yield_now().await;
            api.end_watches();
        };
        assert!(tokio::join!(ends, stops).0);
        assert!(busy.frame().await.is_none());
        // A stream that ended at once would be opened again and again.
        let late = api.handle(get(FROM_NOWHERE[0]), Some(Arc::new(administrator())));
        assert_eq!(late.await.status(), 503);
    });
}

/// They wait for others that read it, for the state that they go on from, or for the commits after that.
#[test]
fn watches_that_wait_for_the_log_end_once_they_are_told_to() {
    const READING: Duration = Duration::from_hours(1);
    for (waits_for_others, stops_after, reads) in [
        (true, Duration::ZERO, 0),
        (false, Duration::ZERO, 0),
        (false, READING + READING / 2, 1),
    ] {
        let (fake, api) = behind_the_window(3, 1);
        *fake.reading.lock().expect("a lock") = READING;
        paused().block_on(async {
            let others = waits_for_others.then(|| fake.reading_back.try_lock().expect("free"));
            let begun = Instant::now();
            let path = "/api/v1/configmaps?watch=1&resourceVersion=1&timeoutSeconds=99999";
            let answer = api.handle(get(path), Some(Arc::new(administrator()))).await;
            let mut body = answer.into_body();
            let stops = async {
                tokio::task::yield_now().await;
                tokio::time::sleep(stops_after).await;
                api.end_watches();
            };
            let (last, ()) = tokio::join!(body.frame(), stops);
            assert!(last.is_none(), "{last:?}");
            let ended = (begun.elapsed(), fake.held.lock().expect("a lock").len());
            assert_eq!(ended, (stops_after, reads), "{waits_for_others}");
            drop(others);
        });
    }
}

/// What is long and not sent as it is stored is made on a thread of the runtime, and here that runtime is gone.
#[test]
fn an_error_is_the_last_that_a_watch_says() {
    const LONG_BYTES: usize = 100 << 10;
    const SENT: &str = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
    let gone = paused().handle().clone();
    for path in [
        FROM_NOWHERE[0],
        FROM_NOWHERE[1],
        "/api/v1/configmaps?watch=1&resourceVersion=1",
    ] {
        let fake = Arc::new(Fake::new());
        let api = Api::new(Arc::clone(&fake) as _, Arc::new(Admission::default()));
        drop(fake.put(&object(1, 1)));
        let mut request = get(path);
        let accept = header::HeaderValue::from_static(SENT);
        request.headers_mut().insert(header::ACCEPT, accept);
        let happen = || {
            fake.happens(&object(2, LONG_BYTES));
            fake.happens(&object(3, 1));
        };
        let is_initial = FROM_NOWHERE.contains(&path);
        let said = paused().block_on(async {
            if is_initial {
                happen();
            }
            let answer = api.handle(request, Some(Arc::new(administrator()))).await;
            if !is_initial {
                happen();
            }
            let _gone = gone.enter();
            let body = answer.into_body().collect().await.expect("sound");
            String::from_utf8(body.to_bytes().to_vec()).expect("text")
        });
        let last = said.lines().last().expect("some");
        assert!(
            last.contains("ERROR") && last.contains("500"),
            "{path}: {said}"
        );
        assert!(
            !said.contains("c3") && !said.contains("BOOKMARK"),
            "{path}: {said}"
        );
    }
}
