//! Command lines of Go programs: `--name=value`, `--name value`, `--name`, also with one dash.

/// The flags of a command line. Of a flag that is there more than once the last one counts.
#[derive(Debug)]
pub(super) struct Flags(Vec<(String, Option<String>)>);

impl Flags {
    /// Reads arguments. Which flags have a value is not known: an argument without a dash is the value of the flag before it.
    pub(super) fn read(arguments: &[String]) -> Self {
        let mut flags: Vec<(String, Option<String>)> = Vec::new();
        for argument in arguments {
            let Some(flag) = argument.strip_prefix('-') else {
                if let Some((_, value @ None)) = flags.last_mut() {
                    *value = Some(argument.clone());
                }
                continue;
            };
            let flag = flag.strip_prefix('-').unwrap_or(flag);
            let (name, value) =
                flag.split_once('=').map_or((flag, None), |(name, value)| (name, Some(value.to_owned())));
            flags.push((name.to_owned(), value));
        }
        Self(flags)
    }

    /// Whether a flag without a value is there, such as `--help`.
    pub(super) fn has(&self, names: &[&str]) -> bool {
        self.0.iter().any(|(name, _)| names.contains(&name.as_str()))
    }

    /// Takes a flag away, and returns its value; none when the flag is not there, or has none.
    pub(super) fn take(&mut self, name: &str) -> Option<String> {
        let mut found = None;
        self.0.retain_mut(|(flag, value)| {
            let is_it = flag == name;
            if is_it {
                found = value.take();
            }
            !is_it
        });
        found.filter(|value| !value.is_empty())
    }

    /// Takes a flag away whose value is a list with commas.
    pub(super) fn take_list(&mut self, name: &str) -> Vec<String> {
        let list = self.take(name).unwrap_or_default();
        list.split(',').map(str::trim).filter(|item| !item.is_empty()).map(str::to_owned).collect()
    }

    /// Takes a switch away: `--name`, `--name=true`, `--name=false`; none when it is not there.
    ///
    /// # Errors
    ///
    /// Another value, in a sentence.
    pub(super) fn take_switch(&mut self, name: &str) -> anyhow::Result<Option<bool>> {
        if !self.has(&[name]) {
            return Ok(None);
        }
        match self.take(name).as_deref() {
            None | Some("true") => Ok(Some(true)),
            Some("false") => Ok(Some(false)),
            Some(other) => anyhow::bail!("--{name}={other}: true or false is needed"),
        }
    }

    /// The names of the flags that nobody took.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|(name, _)| name.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flags(line: &str) -> Flags {
        Flags::read(&line.split(' ').map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn flags_are_read_in_every_form_of_go() {
        let mut read = flags("--a=1 -b=2 --c 3 --d --e=x=y --v 2 --a=4 --f=");
        let mut take = |name| read.take(name).unwrap_or_default();
        assert_eq!([take("a"), take("b"), take("c"), take("e")], ["4", "2", "3", "x=y"].map(str::to_owned));
        assert_eq!((read.take("f"), read.has(&["d"]), read.take("d")), (None, true, None));
        assert_eq!(read.names().collect::<Vec<_>>(), ["v"]);
    }

    #[test]
    fn switches_and_lists() {
        let mut read = flags("--on --off=false --wrong=perhaps --list=a,,b --help");
        assert_eq!(read.take_switch("on").unwrap(), Some(true));
        assert_eq!((read.take_switch("off").unwrap(), read.take_switch("none").unwrap()), (Some(false), None));
        assert_eq!(read.take_switch("wrong").unwrap_err().to_string(), "--wrong=perhaps: true or false is needed");
        assert_eq!(read.take_list("list"), ["a", "b"]);
        assert!(read.has(&["help", "h"]));
    }
}
