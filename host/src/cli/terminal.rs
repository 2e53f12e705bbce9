//! The alternate screen of a terminal: entered once, redrawn whole, and left in order, also after a panic or a second signal.

use rustix::termios::tcgetwinsize;
use std::io::{IsTerminal as _, Write as _};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use unicode_width::UnicodeWidthChar as _;

/// The alternate screen, without a cursor.
const ENTER: &str = "\x1b[?1049h\x1b[?25l";
const LEAVE: &str = "\x1b[?25h\x1b[?1049l";

/// The size of a terminal that does not tell it.
const COLUMNS: u16 = 80;
const ROWS: u16 = 24;

/// Whether this process shows the alternate screen.
static ENTERED: AtomicBool = AtomicBool::new(false);

/// Shows the alternate screen, if standard output is a terminal. A panic leaves it, so that its message can be read.
///
/// Returns whether it is shown.
pub(super) fn enter() -> bool {
    static HOOK: Once = Once::new();
    if !std::io::stdout().is_terminal() {
        return false;
    }
    HOOK.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            leave();
            usual(info);
        }));
    });
    ENTERED.store(true, SeqCst);
    write(ENTER);
    true
}

/// Shows the usual screen again. Does nothing when it is shown.
pub(super) fn leave() {
    if ENTERED.swap(false, SeqCst) {
        write(LEAVE);
    }
}

/// Whether the alternate screen is shown.
pub(super) fn is_entered() -> bool {
    ENTERED.load(SeqCst)
}

/// Columns and rows of the terminal.
pub(super) fn size() -> (usize, usize) {
    let size = tcgetwinsize(std::io::stdout()).ok().filter(|size| size.ws_col > 0 && size.ws_row > 0);
    let (columns, rows) = size.map_or((COLUMNS, ROWS), |size| (size.ws_col, size.ws_row));
    (columns.into(), rows.into())
}

/// Draws the whole screen. Blocks while the terminal takes nothing.
///
/// * `lines` - no more than the rows of the terminal, and no longer than its columns; without control characters.
pub(super) fn draw(lines: &[String]) {
    let text = lines.iter().map(|line| format!("{line}\x1b[K")).collect::<Vec<_>>().join("\r\n");
    let mut out = std::io::stdout().lock();
    // A thread that leaves the screen meanwhile writes after this.
    if is_entered() {
        let _ = out.write_all(format!("\x1b[H{text}\x1b[J").as_bytes()).and_then(|()| out.flush());
    }
}

/// The beginning of a line that fits into some columns. Hidden characters are escaped: no text can control the terminal.
pub(super) fn fitted(line: &str, columns: usize) -> String {
    let (mut used, mut fits) = (0, String::new());
    for character in oarlock::text::one_line(line).chars() {
        used += character.width().unwrap_or(0);
        if used > columns {
            break;
        }
        fits.push(character);
    }
    fits
}

/// The beginning of a text that fits into a terminal whose lines wrap. The last line says how many lines are left out.
///
/// * `size` - columns and rows.
pub(super) fn on_screen(text: &str, size: (usize, usize)) -> String {
    let (columns, rows) = (size.0.max(1), size.1.max(2));
    let lines: Vec<&str> = text.lines().collect();
    let taken = |line: &&str| {
        let width: usize = line.chars().map(|character| character.width().unwrap_or(0)).sum();
        width.div_ceil(columns).max(1)
    };
    // The cursor is in the row below the text.
    let (all, room) = (lines.iter().map(taken).sum::<usize>(), rows - 1);
    if all <= room {
        return text.to_owned();
    }
    let mut left = room - 1;
    let fits = lines.iter().take_while(|line| left.checked_sub(taken(line)).map(|less| left = less).is_some());
    let mut shown: Vec<&str> = fits.copied().collect();
    let more = format!("… {} more lines", lines.len() - shown.len());
    shown.push(&more);
    shown.join("\n")
}

fn write(text: &str) {
    let mut out = std::io::stdout().lock();
    // A terminal that is gone needs no order.
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    /// Set in the process that shows a view and panics.
    const PANICS: &str = "OARLOCK_TEST_VIEW_PANICS";

    #[test]
    fn a_panic_leaves_the_view_before_its_message() {
        if std::env::var_os(PANICS).is_some() {
            assert!(enter(), "no terminal");
            draw(&["the view".to_owned()]);
            panic!("on purpose");
        }
        let this = std::env::current_exe().unwrap();
        let name = "cli::terminal::tests::a_panic_leaves_the_view_before_its_message";
        let line = format!("'{}' --exact {name} --nocapture", this.display());
        let mut script = Command::new("script");
        script.args(["-qec", &line, "/dev/null"]).env(PANICS, "1").stdin(Stdio::null());
        let shown = String::from_utf8_lossy(&script.output().unwrap().stdout).into_owned();
        let at = |part: &str| shown.find(part).unwrap_or_else(|| panic!("{part:?} is not in {shown:?}"));
        assert!(at(ENTER) < at("the view") && at("the view") < at(LEAVE) && at(LEAVE) < at("on purpose"), "{shown:?}");
    }

    #[test]
    fn a_screen_has_the_first_lines_and_the_number_of_the_others() {
        let text: Vec<String> = (0..10).map(|number| format!("line {number}")).collect();
        let text = text.join("\n");
        assert_eq!(on_screen(&text, (80, 11)), text);
        assert_eq!(on_screen(&text, (80, 5)), "line 0\nline 1\nline 2\n… 7 more lines");
        assert_eq!(on_screen(&text, (4, 6)), "line 0\nline 1\n… 8 more lines", "each takes two rows");
        assert_eq!(on_screen("漢字かな\nb\nc", (4, 4)), "漢字かな\n… 2 more lines");
        assert_eq!(on_screen(&text, (0, 0)), "… 10 more lines");
    }

    #[test]
    fn a_line_fits_its_columns_and_cannot_control_the_terminal() {
        assert_eq!(fitted("greeter", 4), "gree");
        assert_eq!(fitted("漢字かな", 5), "漢字");
        for hostile in ["\x1b[2J\x1b]0;title\x07", "\u{9b}2J", "a\r\nb", "\u{202e}abc"] {
            let fitted = fitted(hostile, 200);
            assert!(!fitted.chars().any(char::is_control) && !fitted.contains('\u{202e}'), "{fitted:?}");
        }
    }
}
