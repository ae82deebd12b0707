//! How long a visit takes from the navigation to the first book on screen.

use serde_json::Value;

use crate::browser::{Browser, Driver};
use crate::made::{self, Order};
use crate::server::{self, Server};

/// Milliseconds of visits with nothing in the browser's caches, and of visits after one.
pub struct Visits {
    /// Each in a browser of its own.
    pub cold: Vec<u64>,
    /// In one browser, one after another.
    pub warm: Vec<u64>,
}

/// Visits a store of one table with a hundred thousand orders, whose book opens by itself.
///
/// # Errors
/// When no book comes.
pub async fn visits(driver: &Driver, times: usize) -> Result<Visits, String> {
    let file = server::root().join("target/test/first.mbo.dbn");
    // Forty at the first time, so that the first book has levels.
    let order =
        |id: u64| Order { instrument: 41, after: id.saturating_sub(40) * 1_000_000, action: b'A', id, size: 5, ends_group: true, doubtful: false };
    made::orders(&file, (1..=100_000).map(order))?;
    let server = Server::start(&[file], &[]).await?;
    let address = format!("http://{}/", server.address);
    // The import is over, and what the system reads from the disk is read, before anything is measured.
    let browser = driver.browser().await?;
    visit(&browser, &address).await?;
    let mut visits = Visits { cold: Vec::new(), warm: Vec::new() };
    for _ in 0..times {
        let browser = driver.browser().await?;
        visits.cold.push(visit(&browser, &address).await?);
    }
    for _ in 0..times {
        // A visit, not a reload of the place.
        browser.run("sessionStorage.clear()").await?;
        visits.warm.push(visit(&browser, &address).await?);
    }
    Ok(visits)
}

/// Milliseconds since the navigation began at which the ladder had a price, seen by the page's own frames.
async fn visit(browser: &Browser, address: &str) -> Result<u64, String> {
    browser.visit(address).await?;
    let seen = "new Promise((done, fail) => {
        const look = () => {
            const price = document.querySelector('.ladder :is(.bids, .asks) .tail:not(:empty)');
            if (price) done(Math.round(performance.now()));
            else if (performance.now() > 30000) fail('no book within 30 s');
            else requestAnimationFrame(look);
        };
        look();
    })";
    browser.promise(seen, Value::Null).await?.as_u64().ok_or_else(|| "no time".to_owned())
}

/// The middle one.
pub fn median(mut times: Vec<u64>) -> u64 {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}
