//! A shorter list that fails the same way.

use anyhow::Result;

/// Leaves out parts of a list for as long as the rest still fails: halves first, single items last.
///
/// * `tries` - how often `fails` is asked at most.
///
/// # Errors
///
/// Those of `fails`.
pub async fn shrink<T: Clone>(
    items: Vec<T>,
    tries: usize,
    mut fails: impl AsyncFnMut(&[T]) -> Result<bool>,
) -> Result<Vec<T>> {
    let mut items = items;
    let mut left = tries;
    let mut size = items.len() / 2;
    while size > 0 {
        let mut from = 0;
        let mut shorter = false;
        while from < items.len() {
            if left == 0 {
                return Ok(items);
            }
            left -= 1;
            let rest: Vec<T> = items.iter().take(from).chain(items.iter().skip(from + size)).cloned().collect();
            if fails(&rest).await? {
                items = rest;
                shorter = true;
            } else {
                from += size;
            }
        }
        if size > 1 || !shorter {
            size /= 2;
        }
        size = size.min(items.len());
    }
    Ok(items)
}
