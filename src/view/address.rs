//! A store's address as a user types it.

use crate::link::{StoreInfo, StoreKind};

/// The port of a QuestDB, where none is typed.
const DEFAULT_PORT: &str = "9000";

/// Longer addresses are none.
const MOST_BYTES: usize = 1_024;

/// The store at a typed address: `http`, `https`, `ws` or `wss`, a host, a port. The scheme may be left out (`http`), and the port
/// (QuestDB's, 9000). Which SQL it speaks shows when it answers.
///
/// # Errors
/// A sentence that says what is wrong with the address.
pub fn store_at(typed: &str) -> Result<StoreInfo, String> {
    let typed = typed.trim();
    if typed.is_empty() {
        return Err("Type the address of a store, for example localhost:9000".to_owned());
    }
    if typed.len() > MOST_BYTES {
        return Err(format!("An address has at most {MOST_BYTES} characters"));
    }
    let (scheme, rest) = typed.split_once("://").unwrap_or(("http", typed));
    let (socket, web_port) = match scheme.to_ascii_lowercase().as_str() {
        "http" | "ws" => ("ws", DEFAULT_PORT),
        "https" | "wss" => ("wss", "443"),
        other => return Err(format!("{other}:// is not the address of a store: write http://, https://, ws:// or wss://")),
    };
    let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    if authority.contains('@') {
        return Err("An address must not hold a user or password: addresses are shown and kept".to_owned());
    }
    if !matches!(path, "" | "/" | "/read/v1" | "/index.html") {
        return Err(format!("{path} does not belong to a store's address: write the host and port only"));
    }
    let (host, port) = match authority.strip_prefix('[') {
        Some(inner) => {
            let (host, rest) = inner.split_once(']').ok_or("The address of an IPv6 host ends with ]")?;
            (format!("[{host}]"), rest.strip_prefix(':').unwrap_or(web_port))
        }
        None => {
            let (host, port) = authority.split_once(':').unwrap_or((authority, web_port));
            (host.to_owned(), port)
        }
    };
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | ':' | '[' | ']');
    if host.is_empty() || !host.chars().all(plain) {
        return Err(format!("{host:?} is not the name of a host"));
    }
    let port: u16 = port.parse().ok().filter(|port| *port > 0).ok_or_else(|| format!("{port:?} is not a port: write a number from 1 to 65535"))?;
    let name = format!("{host}:{port}").to_ascii_lowercase();
    let url = format!("{socket}://{name}/read/v1");
    Ok(StoreInfo { name, kind: StoreKind::Questdb, default: false, url, importing: Vec::new() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_read_with_or_without_scheme_port_and_path() {
        for (typed, name, url) in [
            ("localhost", "localhost:9000", "ws://localhost:9000/read/v1"),
            (" http://Desk.example:8420/ ", "desk.example:8420", "ws://desk.example:8420/read/v1"),
            ("wss://db.example", "db.example:443", "wss://db.example:443/read/v1"),
            ("https://db.example:9443/read/v1", "db.example:9443", "wss://db.example:9443/read/v1"),
            ("ws://[::1]:9000", "[::1]:9000", "ws://[::1]:9000/read/v1"),
        ] {
            let store = store_at(typed).unwrap();
            assert_eq!((store.name.as_str(), store.url.as_str()), (name, url), "{typed}");
        }
    }

    #[test]
    fn what_is_no_address_is_refused_and_says_why() {
        for (typed, part) in [
            ("", "Type the address"),
            ("ftp://x", "ftp://"),
            ("http://user:secret@host", "password"),
            ("host:0", "65535"),
            ("host:99999", "65535"),
            ("host/exec?query=1", "host and port only"),
            ("ho st", "name of a host"),
            ("http://[::1", "]"),
        ] {
            let refused = store_at(typed).unwrap_err();
            assert!(refused.contains(part) && !refused.contains("secret"), "{typed}: {refused}");
        }
    }
}
