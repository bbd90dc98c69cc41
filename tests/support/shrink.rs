//! Shrinks a failing input to a small part that still fails: Zeller's delta debugging.

/// Removes what the failure does not need, larger pieces first; no single item of the result can be
/// removed.
pub fn shrink<T: Clone>(mut items: Vec<T>, fails: &mut dyn FnMut(&[T]) -> bool) -> Vec<T> {
    let mut piece = items.len().div_ceil(2);
    while piece > 0 {
        let mut removed = false;
        let mut start = 0;
        while start < items.len() {
            let end = (start + piece).min(items.len());
            let rest = [&items[..start], &items[end..]].concat();
            if fails(&rest) {
                items = rest;
                removed = true;
            } else {
                start = end;
            }
        }
        // The input is minimal only once a whole pass removes no single item.
        piece = match (piece, removed) {
            (1, true) => 1,
            (size, _) => size / 2,
        };
    }
    items
}

/// Replaces each item by simpler ones as long as the input still fails.
pub fn simplify<T: Clone>(
    mut items: Vec<T>,
    simpler: &dyn Fn(&T) -> Vec<T>,
    fails: &mut dyn FnMut(&[T]) -> bool,
) -> Vec<T> {
    for index in 0..items.len() {
        while let Some(found) = simpler(&items[index]).into_iter().find_map(|next| {
            let mut other = items.clone();
            other[index] = next;
            fails(&other).then_some(other)
        }) {
            items = found;
        }
    }
    items
}

#[cfg(test)]
mod tests {
    use super::{shrink, simplify};

    #[test]
    fn what_is_left_is_what_it_takes() {
        let needed = [3, 40, 41, 99];
        let mut runs = 0;
        let mut fails = |items: &[u32]| {
            runs += 1;
            needed.iter().all(|one| items.contains(one))
        };
        assert_eq!(shrink((0..100).collect(), &mut fails), needed);
        assert!(runs < 400, "{runs} runs");
    }

    #[test]
    fn items_become_as_simple_as_they_can() {
        let simpler = |one: &u32| if *one > 0 { vec![one - 1] } else { Vec::new() };
        let mut fails = |items: &[u32]| items.iter().sum::<u32>() >= 5;
        assert_eq!(simplify(vec![4, 3, 2], &simpler, &mut fails), [0, 3, 2]);
    }
}
