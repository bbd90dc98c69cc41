//! Who comes, who stays, and who has to go.

use super::*;
use futures_util::FutureExt;

fn places(connections: usize, strangers: usize) -> Arc<Seats> {
    Seats::new(Limits {
        connections,
        strangers,
    })
}

fn has_to_go(seat: &Seat) -> bool {
    seat.displaced().now_or_never().is_some()
}

#[test]
fn the_newest_stranger_takes_the_place_of_the_oldest_and_never_of_one_who_is_known() {
    let places = places(10, 2);
    let enter = || places.enter().expect("a place");
    let [known, second, third] = [(); 3].map(|()| {
        let seat = enter();
        if seat.number == 0 {
            seat.mark_known();
        }
        seat
    });
    assert!(![&known, &second, &third].into_iter().any(has_to_go));
    let fourth = enter();
    assert!(has_to_go(&second));
    drop(third);
    let fifth = enter();
    assert!(![&known, &fourth, &fifth].into_iter().any(has_to_go));
    let _sixth = enter();
    assert!(has_to_go(&fourth));
    assert!(![&known, &fifth].into_iter().any(has_to_go));
}

#[test]
fn places_that_are_given_back_are_free_again() {
    let places = places(2, 2);
    for _ in 0..3 {
        let seats = [places.enter(), places.enter()].map(|seat| seat.expect("a place"));
        seats[0].mark_known();
        assert!(places.enter().is_none(), "all are taken");
        assert!(has_to_go(&seats[1]), "and the next one finds one");
    }
    assert!(places.strangers().waiting.is_empty());
}
