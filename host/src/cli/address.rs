//! The admin address, as people write it: `127.0.0.1:9797`, `9797`, `http://127.0.0.1:9797`.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// Reads an address. A port alone is one of this machine.
///
/// # Errors
///
/// A sentence with the right form.
pub(super) fn admin(text: &str) -> Result<SocketAddr, String> {
    let plain = text.strip_prefix("http://").map_or(text, |rest| rest.strip_suffix('/').unwrap_or(rest));
    let this_machine = |port: &str| port.parse().ok().map(|port: u16| SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
    if let Ok(address) = plain.parse() {
        return Ok(address);
    }
    let port = plain.strip_prefix("localhost:").or_else(|| plain.strip_prefix(':')).unwrap_or(plain);
    if let Some(address) = this_machine(port) {
        return Ok(address);
    }
    let form = "expected ADDRESS:PORT or PORT, for example 127.0.0.1:9797 or 9797";
    match plain.parse::<IpAddr>() {
        Ok(_) => Err(format!("the port is missing; {form}")),
        Err(_) if text.contains("://") => Err(format!("the admin address serves http, without a path; {form}")),
        Err(_) => Err(format!("it is not an IP address with a port; {form}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn n23_an_address_may_be_a_port_or_a_url() {
        for (text, expected) in [
            ("9801", "127.0.0.1:9801"),
            (":9801", "127.0.0.1:9801"),
            ("0", "127.0.0.1:0"),
            ("localhost:9801", "127.0.0.1:9801"),
            ("http://localhost:9801/", "127.0.0.1:9801"),
            ("http://10.0.0.1:9801", "10.0.0.1:9801"),
            ("0.0.0.0:9801", "0.0.0.0:9801"),
            ("[::1]:9801", "[::1]:9801"),
        ] {
            assert_eq!(admin(text).map(|address| address.to_string()).as_deref(), Ok(expected), "{text}");
        }
        for text in
            ["", "a", "65536", "-1", "127.0.0.1", "::1", "https://127.0.0.1:1", "http://127.0.0.1:1/plugins", "host:1"]
        {
            assert!(admin(text).unwrap_err().ends_with("for example 127.0.0.1:9797 or 9797"), "{text}");
        }
    }
}
