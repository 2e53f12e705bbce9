//! Authentication: requests without credentials (the administrator), bearer tokens, client certificates.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Mutex, PoisonError},
};

use http::{HeaderMap, header};

use crate::model::{
    error::Error,
    status::{ApiError, Result},
    user::{AUTHENTICATED, User},
};

/// Bearer tokens and their users.
///
/// # Source
///
/// kube-apiserver's `--token-auth-file`.
#[derive(Debug, Clone, Default)]
pub struct StaticTokens(HashMap<String, User>);

impl StaticTokens {
    /// Parses lines of `token,user,uid` or `token,user,uid,"group1,group2"`. Empty lines are ignored; of two lines with the same token
    /// the last one counts.
    ///
    /// # Errors
    ///
    /// [`Error::Tokens`] with the number of the first invalid line.
    pub fn parse(text: &str) -> std::result::Result<Self, Error> {
        let mut tokens = HashMap::new();
        for (number, line) in (1_usize..).zip(text.lines()) {
            if line.trim().is_empty() {
                continue;
            }
            let columns = columns(line).ok_or(Error::Tokens { line: number, why: "a quote is not closed" })?;
            let mut columns = columns.into_iter();
            let (Some(token), Some(name), Some(uid)) = (columns.next(), columns.next(), columns.next()) else {
                return Err(Error::Tokens { line: number, why: "token, user and uid are needed" });
            };
            if token.is_empty() || name.is_empty() {
                return Err(Error::Tokens { line: number, why: "token and user must not be empty" });
            }
            let listed = columns.next().unwrap_or_default();
            let mut groups: Vec<String> =
                listed.split(',').map(str::trim).filter(|g| !g.is_empty()).map(str::to_owned).collect();
            if !groups.iter().any(|g| g == AUTHENTICATED) {
                groups.push(AUTHENTICATED.to_owned());
            }
            tokens.insert(token, User { name, uid, groups, extra: BTreeMap::new() });
        }
        Ok(Self(tokens))
    }
}

/// The columns of a line of CSV; `None` when a quote is not closed.
fn columns(line: &str) -> Option<Vec<String>> {
    let (mut out, mut column, mut quoted) = (Vec::new(), String::new(), false);
    let mut chars = line.trim_end_matches('\r').chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' if quoted && chars.next_if_eq(&'"').is_some() => column.push('"'),
            '"' => quoted = !quoted,
            ',' if !quoted => out.push(std::mem::take(&mut column)),
            c => column.push(c),
        }
    }
    out.push(column);
    (!quoted).then_some(out)
}

/// All accepted tokens: from the file, and from `serviceaccounts/token`.
#[derive(Debug)]
pub(crate) struct Tokens {
    fixed: StaticTokens,
    /// Whether requests without credentials are anonymous instead of the administrator's.
    anonymous: bool,
    issued: Mutex<HashMap<String, User>>,
}

impl Tokens {
    pub(crate) fn new(fixed: StaticTokens, anonymous: bool) -> Self {
        Self { fixed, anonymous, issued: Mutex::default() }
    }

    /// A new token for a user, valid while the server runs.
    pub(crate) fn issue(&self, user: User) -> String {
        let token = uuid::Uuid::new_v4().simple().to_string();
        self.issued.lock().unwrap_or_else(PoisonError::into_inner).insert(token.clone(), user);
        token
    }

    /// The user of a token.
    pub(crate) fn owner(&self, token: &str) -> Option<User> {
        let issued = || self.issued.lock().unwrap_or_else(PoisonError::into_inner).get(token).cloned();
        self.fixed.0.get(token).cloned().or_else(issued)
    }

    /// The user of a request: without a bearer token the administrator or the anonymous user; 401 with an unknown one.
    pub(crate) fn authenticate(&self, headers: &HeaderMap) -> Result<User> {
        let header = headers.get(header::AUTHORIZATION).and_then(|v| v.to_str().ok()).unwrap_or_default();
        let nobody = || if self.anonymous { User::anonymous() } else { User::admin() };
        let Some((scheme, token)) = header.trim().split_once(' ') else { return Ok(nobody()) };
        if !scheme.eq_ignore_ascii_case("bearer") {
            return Ok(nobody());
        }
        self.owner(token.trim()).ok_or_else(ApiError::unauthorized)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_the_token_file_is_a_user_with_its_groups() {
        let tokens = StaticTokens::parse("t1,jane,1,\"devs,ops\"\r\n\n  \nt2,\"o\"\"neil\",\nt3,kim,3,devs\n").unwrap();
        let groups = |token: &str| tokens.0[token].groups.join(" ");
        assert_eq!(groups("t1"), "devs ops system:authenticated");
        assert_eq!((tokens.0["t2"].name.as_str(), groups("t2").as_str()), ("o\"neil", "system:authenticated"));
        assert_eq!((tokens.0["t3"].uid.as_str(), groups("t3").as_str()), ("3", "devs system:authenticated"));
    }

    #[test]
    fn a_line_that_is_no_user_is_named() {
        for (text, line) in [("a,b", 1), ("a,b,c\n,b,c", 2), ("a,b,c\n\na,b,c,\"d", 3)] {
            let error = StaticTokens::parse(text).unwrap_err().to_string();
            assert!(error.contains(&format!("line {line}")), "{error}");
        }
    }
}
