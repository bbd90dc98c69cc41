//! Watches of a server that stops.

use super::*;

#[test]
fn watches_end_once_they_are_told_to_whatever_they_have_to_send() {
    let fake = Arc::new(Fake::new());
    (1..=3).for_each(|at| drop(fake.put(&object(at, PIECE_BYTES))));
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
        let mut late = open(FROM_NOWHERE[0]).await;
        assert!(late.frame().await.is_none());
    });
}
