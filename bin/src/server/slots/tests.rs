//! Who comes, who stays, and who has to go.

use super::*;
use futures_util::FutureExt;

fn slots(connections: usize, unauthenticated: usize) -> Arc<Slots> {
    Slots::new(Limits {
        connections,
        unauthenticated,
    })
}

fn has_to_go(slot: &Slot) -> bool {
    slot.displaced().now_or_never().is_some()
}

#[test]
fn the_newest_takes_the_slot_of_the_oldest_that_is_unauthenticated() {
    let slots = slots(10, 2);
    let enter = || slots.enter().expect("a slot");
    let [known, second, third] = [(); 3].map(|()| {
        let slot = enter();
        if slot.number == 0 {
            slot.mark_authenticated();
        }
        slot
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
fn slots_that_are_given_back_are_free_again() {
    let slots = slots(2, 2);
    for _ in 0..3 {
        let taken = [slots.enter(), slots.enter()].map(|slot| slot.expect("a slot"));
        taken[0].mark_authenticated();
        assert!(slots.enter().is_none(), "all are taken");
        assert!(has_to_go(&taken[1]), "and the next one finds one");
    }
    assert!(slots.unauthenticated().waiting.is_empty());
}

#[test]
fn the_authenticated_are_let_in_until_they_have_all_slots() {
    let slots = slots(3, 1);
    let taken = [(); 3].map(|()| {
        let slot = slots.enter().expect("free");
        slot.mark_authenticated();
        slot
    });
    assert!(slots.enter().is_none());
    assert!(!taken.iter().any(has_to_go));
}

#[test]
fn room_is_made_by_one_at_a_time() {
    let slots = slots(10, 10);
    let [oldest, newer] = [(); 2].map(|()| slots.enter().expect("free"));
    assert!(slots.make_room() && slots.make_room());
    assert!(has_to_go(&oldest) && !has_to_go(&newer));
    drop(oldest);
    assert!(slots.make_room() && has_to_go(&newer));
    drop(newer);
    assert!(!slots.make_room(), "nobody is left");
}
