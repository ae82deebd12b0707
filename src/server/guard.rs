//! Who may talk to this server. A page of another site can make a browser connect here, so both headers are looked at that tell it:
//! `Host` on every route (against a name that an attacker points at this machine) and `Origin` on the WebSocket upgrade.

use std::net::IpAddr;

/// The names under which this server answers.
#[derive(Debug, Clone)]
pub(crate) struct Guard {
    /// The address given to listen on, as it was given.
    bound: String,
    /// Names that the operator added, with or without port.
    allowed: Vec<String>,
}

impl Guard {
    /// A guard for a server that listens on `bound` and also answers to `allowed`.
    pub(crate) fn new(bound: &str, allowed: &[String]) -> Guard {
        let lower = |text: &str| text.trim().to_ascii_lowercase();
        Guard { bound: lower(bound), allowed: allowed.iter().map(|host| lower(host)).collect() }
    }

    /// Whether a `Host` header names this server: a loopback name, the bound address, or an allowed name.
    pub(crate) fn host(&self, header: Option<&str>) -> bool {
        let Some(header) = header.map(str::to_ascii_lowercase) else { return false };
        let Some(name) = host_name(&header) else { return false };
        is_loopback(name) || name == self.bound || self.is_allowed(&header, name)
    }

    /// Whether an upgrade that carries this `Origin` may go on: there is none, it is this server's own, or an allowed name's.
    /// `host` is the header that passed [`Guard::host`].
    pub(crate) fn origin(&self, origin: Option<&str>, host: &str) -> bool {
        let Some(origin) = origin.map(str::to_ascii_lowercase) else { return true };
        let Some((scheme, authority)) = origin.split_once("://") else { return false };
        let Some(name) = host_name(authority) else { return false };
        match scheme {
            "http" if authority == host.to_ascii_lowercase() => true,
            // This server speaks no TLS: an https origin comes through a proxy, whose name the operator gave.
            "http" | "https" => self.is_allowed(authority, name),
            _ => false,
        }
    }

    fn is_allowed(&self, with_port: &str, name: &str) -> bool {
        self.allowed.iter().any(|allowed| allowed == name || allowed == with_port)
    }
}

/// The name in `name`, `name:port`, `[v6]` or `[v6]:port`; `None` when there is anything else in it.
fn host_name(authority: &str) -> Option<&str> {
    let (name, rest) = match authority.strip_prefix('[') {
        Some(inner) => inner.split_once(']')?,
        None => authority.split_at(authority.find(':').unwrap_or(authority.len())),
    };
    let port = match rest.strip_prefix(':') {
        Some(port) => port,
        None if rest.is_empty() => "0",
        None => return None,
    };
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | ':');
    (port.parse::<u16>().is_ok() && !name.is_empty() && name.chars().all(plain)).then_some(name)
}

fn is_loopback(name: &str) -> bool {
    name == "localhost" || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guard() -> Guard {
        Guard::new("192.168.1.5", &["desk.example".to_owned(), "Other.Example:8080".to_owned()])
    }

    #[test]
    fn a_host_is_loopback_bound_or_allowed() {
        for host in [
            "localhost",
            "LOCALHOST:8420",
            "127.0.0.1:1",
            "127.8.8.8",
            "[::1]:8420",
            "[::1]",
            "192.168.1.5:8420",
            "desk.example:1",
            "other.example:8080",
        ] {
            assert!(guard().host(Some(host)), "{host}");
        }
        for host in [
            "evil.example",
            "localhost.evil.example",
            "evil-localhost",
            "other.example:81",
            "127.0.0.1@evil.example",
            "127.0.0.1:x",
            "[::1",
            "",
            "192.168.1.6",
        ] {
            assert!(!guard().host(Some(host)), "{host}");
        }
        assert!(!guard().host(None));
    }

    #[test]
    fn an_origin_is_absent_own_or_allowed() {
        let own = "127.0.0.1:8420";
        for origin in
            [None, Some("http://127.0.0.1:8420"), Some("HTTP://127.0.0.1:8420"), Some("https://desk.example"), Some("http://desk.example:3000")]
        {
            assert!(guard().origin(origin, own), "{origin:?}");
        }
        for origin in [
            "null",
            "",
            "http://127.0.0.1:8421",
            "http://localhost:8420",
            "https://127.0.0.1:8420",
            "http://evil.example",
            "http://127.0.0.1:8420.evil.example",
            "http://127.0.0.1:8420/x",
            "file://127.0.0.1:8420",
        ] {
            assert!(!guard().origin(Some(origin), own), "{origin}");
        }
    }
}
