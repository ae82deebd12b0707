//! The timeline of the ES day against the rows of the file; the loop and the pace, as they are chosen on the page.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{opened, same, with_data};
use crate::Outcome;
use crate::browser::{Browser, Driver};
use crate::truth;

const MINUTE: u64 = 60_000_000_000;
/// Columns of the picture, and its height.
const COLUMNS: usize = 1_000;
const HEIGHT: f64 = 100.0;
/// A bar with a row is never lower.
const LEAST: f64 = 2.5;

/// Bars per minute of the whole day are as high as the file's rows; drilled down to seconds, each says the file's count.
pub async fn the_bars_are_the_rows_of_the_file(driver: &Driver) -> Outcome {
    with_data!(data);
    bars(driver, &data).await.into()
}

async fn bars(driver: &Driver, data: &Path) -> Result<(), String> {
    let files = &truth::es_mbo(data)[1..];
    let times = truth::receive_times(&files[0])?;
    let (_server, mut browser, state) = opened(driver, files, &[]).await?;
    let edge =
        |name: &str| state["range"][name].as_str().and_then(|time| time.parse::<u64>().ok()).ok_or_else(|| format!("no range: {}", state["range"]));
    let (from, to) = (edge("from")?, edge("to")?);
    same("the range is a day", (to - from) / MINUTE, 1_440)?;
    // What a picture of the file would be.
    let rows_of = |start: u64, end: u64| times.iter().filter(|time| (start..end).contains(*time)).count();
    let minutes: Vec<usize> = (0..1_440).map(|minute| rows_of(from + minute * MINUTE, from + (minute + 1) * MINUTE)).collect();
    let peak = minutes.iter().copied().max().unwrap_or_default();
    let mut columns = vec![0usize; COLUMNS];
    for (minute, rows) in minutes.iter().enumerate() {
        let column = |minute: usize| (minute as f64 / 1_440.0 * COLUMNS as f64).round() as usize;
        for height in &mut columns[column(minute)..column(minute + 1).max(column(minute) + 1).min(COLUMNS)] {
            *height = (*height).max(*rows);
        }
    }
    let start = Instant::now();
    let drawn = loop {
        let path = browser.run("return document.querySelector('.activity .bars').getAttribute('d')").await?;
        match path.as_str() {
            Some(path) if !path.is_empty() => break heights(path)?,
            _ if start.elapsed() > Duration::from_secs(20) => return Err("no bars are drawn".to_owned()),
            _ => tokio::time::sleep(Duration::from_millis(20)).await,
        }
    };
    for (column, rows) in columns.iter().enumerate() {
        let wanted = if *rows == 0 { 0.0 } else { (*rows as f64 / peak as f64 * HEIGHT).max(LEAST) };
        if (drawn[column] - wanted).abs() > 0.051 {
            return Err(format!("column {column} is {} high for {rows} rows of {peak}: wanted {wanted:.1}", drawn[column]));
        }
    }
    // The hours without a row are hatched, from their first minute to their last.
    let hatched = browser.run("return getComputedStyle(document.querySelector('.gaps')).clipPath").await?;
    let empty_to = minutes.iter().skip(1).position(|rows| *rows > 0).unwrap_or_default() + 1;
    let edge = format!("{:.3}%", empty_to as f64 / 1_440.0 * 100.0);
    same("the hatching ends where the rows begin", hatched.as_str().is_some_and(|clip| clip.contains(&edge)), true)
        .map_err(|why| format!("{why}: {hatched}, wanted {edge}"))?;

    // Drilled down around the busy half hour, to bars of a second and less.
    browser.command(json!({ "seek": (from + (23 * 60 + 20) * MINUTE).to_string() })).await?;
    browser.ready().await?;
    let mut checked = 0;
    let mut widths = Vec::new();
    for _ in 0..9 {
        let [left, top, width, _] = browser.area(".track").await?;
        for share in [0.31, 0.5, 0.62, 0.83] {
            browser.point((left + width * share, top + 20.0)).await?;
            let (time, rows, bar) = pointed(&browser).await?;
            let start = from + time / bar * bar;
            same(&format!("rows in the {bar} ns at {start}"), rows, rows_of(start, start + bar))?;
            checked += 1;
            if !widths.contains(&bar) {
                widths.push(bar);
            }
        }
        browser.press("w").await?;
        until_counted(&browser).await?;
    }
    println!("1440 minutes are drawn as they are, {checked} bars of {widths:?} ns count what the file counts");
    same("bars of a minute and of less than ten seconds", widths.contains(&MINUTE) && widths.iter().any(|bar| *bar < 10_000_000_000), true)?;
    browser.press("0").await?;
    browser.console_is_clean().await
}

/// The sample's three minutes without a row are hatched to the minute; zoomed into them, all that is shown is.
pub async fn the_planted_gap_is_hatched_at_every_zoom(driver: &Driver) -> Result<(), String> {
    let (_server, mut browser, _) = opened(driver, &[], &[]).await?;
    // 17:30 to 17:33 of the day.
    let edges = [1_050.0, 1_053.0].map(|minute: f64| format!("{:.3}%", minute / 1_440.0 * 100.0));
    until_hatched(&browser, |clip| edges.iter().all(|edge| clip.contains(edge))).await?;
    browser.command(json!({ "seek": "1715189490000000000" })).await?;
    browser.ready().await?;
    for _ in 0..10 {
        browser.press("w").await?;
    }
    until_hatched(&browser, |clip| clip == "polygon(0% 100%, 0% 100%, 0% 0%, 100% 0%, 100% 100%)").await?;
    same("its words", browser.run("return document.querySelector('.peak').textContent").await?, json!("no rows"))?;
    browser.press("0").await?;
    browser.console_is_clean().await
}

async fn until_hatched(browser: &Browser, condition: impl Fn(&str) -> bool) -> Result<(), String> {
    let start = Instant::now();
    loop {
        let clip = browser.run("return document.querySelector('.gaps').style.clipPath").await?;
        if clip.as_str().is_some_and(&condition) {
            return Ok(());
        }
        if start.elapsed() > Duration::from_secs(20) {
            return Err(format!("hatched is {clip}"));
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Height of each column of a path `M3 100V40.0H5V100Z…`.
fn heights(path: &str) -> Result<Vec<f64>, String> {
    let mut heights = vec![0.0; COLUMNS];
    for bar in path.split('Z').filter(|bar| !bar.is_empty()) {
        let numbers: Vec<f64> = bar.split(|c: char| !c.is_ascii_digit() && c != '.').filter_map(|number| number.parse().ok()).collect();
        let [left, bottom, top, right, _] = numbers[..] else { return Err(format!("a bar is drawn as {bar}")) };
        heights[left as usize..right as usize].fill(bottom - top);
    }
    Ok(heights)
}

/// Waits until the bars are of the part that is shown.
async fn until_counted(browser: &Browser) -> Result<(), String> {
    let start = Instant::now();
    while browser.run("return document.querySelector('.track').hasAttribute('data-busy')").await? == json!(true) {
        if start.elapsed() > Duration::from_secs(20) {
            return Err("the bars are not counted".to_owned());
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Ok(())
}

/// What stands under the pointer: nanoseconds of the day, rows, width of the bar in nanoseconds.
async fn pointed(browser: &Browser) -> Result<(u64, usize, u64), String> {
    let said = browser.run("return document.querySelector('.pointed').textContent.replace(/\\u2009/g, '')").await?;
    let read = || -> Option<(u64, usize, u64)> {
        let (time, rest) = said.as_str()?.split_once(" · ")?;
        let (rows, bar) = rest.split_once(" in ")?;
        let rows = rows.trim_end_matches('s').strip_suffix(" row")?;
        let mut parts = time.split([':', '.']).map(|part| part.parse::<u64>().ok());
        let (hours, minutes, seconds, nanos) = (parts.next()??, parts.next()??, parts.next()??, parts.next()??);
        let unit = bar.find(|c: char| !c.is_ascii_digit())?;
        let nanos_of = match &bar[unit..] {
            "min" => MINUTE,
            "s" => 1_000_000_000,
            "ms" => 1_000_000,
            _ => return None,
        };
        let rows = if rows == "no" { 0 } else { rows.parse().ok()? };
        Some((((hours * 60 + minutes) * 60 + seconds) * 1_000_000_000 + nanos, rows, bar[..unit].parse::<u64>().ok()? * nanos_of))
    };
    read().ok_or_else(|| format!("under the pointer stands {said}"))
}

/// A drag over the timeline loops that stretch; playback stays in it and begins anew; the key L ends it.
pub async fn a_drag_loops_and_the_key_ends_it(driver: &Driver) -> Outcome {
    with_data!(data);
    looped(driver, &data).await.into()
}

async fn looped(driver: &Driver, data: &Path) -> Result<(), String> {
    let (_server, mut browser, state) = opened(driver, &truth::es_mbo(data)[1..], &[]).await?;
    let number =
        |value: &Value| value.as_str().and_then(|text| text.split('/').next()?.trim_end_matches('-').parse::<u64>().ok()).unwrap_or_default();
    let (from, to) = (number(&state["range"]["from"]), number(&state["range"]["to"]));
    let [left, top, width, _] = browser.area(".track").await?;
    let x = |share: f64| left + (width * share).round();
    browser.drag(&[(x(0.97), top + 20.0), (x(0.98), top + 22.0), (x(0.99), top + 20.0)]).await?;
    let state = browser.until("a loop", Duration::from_secs(10), |state| state["loop"].is_object()).await?;
    let (start, end) = (number(&state["loop"]["from"]), number(&state["loop"]["to"]));
    for (what, got, share) in [("start", start, 0.97), ("end", end, 0.99)] {
        let wanted = from as f64 + (to - from) as f64 * ((x(share) - left) / width);
        // A pixel is a minute and a half.
        if (got as f64 - wanted).abs() > MINUTE as f64 {
            return Err(format!("the loop's {what} is {got}, dragged to {wanted}"));
        }
    }
    same("the button", browser.run("return document.querySelector('.loop-button').ariaPressed").await?, json!("true"))?;
    browser.command(json!({ "seek": start.to_string() })).await?;
    browser.command(json!({ "speed": 10_000 })).await?;
    browser.press(" ").await?;
    let (mut rounds, mut last) = (0, start);
    let begun = Instant::now();
    while rounds < 2 {
        let at = number(&browser.state().await?["asOf"]);
        if at + 1_000_000 < start || at > end {
            return Err(format!("{at} is played, outside of the loop {start} to {end}"));
        }
        rounds += u32::from(at < last);
        last = at;
        if begun.elapsed() > Duration::from_secs(60) {
            return Err(format!("after a minute the loop was played {rounds} times"));
        }
    }
    // Slow enough not to come to the end of the range meanwhile.
    browser.command(json!({ "speed": 1 })).await?;
    browser.press("l").await?;
    let state = browser.until("no loop", Duration::from_secs(10), |state| state["loop"].is_null()).await?;
    same("it goes on", &state["status"], &json!("playing"))?;
    browser.press(" ").await?;
    // And over what the timeline shows.
    browser.press("l").await?;
    let state = browser.until("a loop of all", Duration::from_secs(10), |state| state["loop"].is_object()).await?;
    same("the loop", &state["loop"], &state["range"])?;
    browser.press("l").await?;
    browser.console_is_clean().await
}

/// Events a second, chosen from the menu: counted by the page over ten seconds.
pub async fn playback_is_paced_by_events(driver: &Driver) -> Outcome {
    with_data!(data);
    paced(driver, &data).await.into()
}

async fn paced(driver: &Driver, data: &Path) -> Result<(), String> {
    let (_server, mut browser, _) = opened(driver, &truth::es_mbo(data)[1..], &[]).await?;
    let choose = "const picker = document.querySelector('select[aria-label=Pace]');
        picker.value = [...picker.options].find(option => option.text.replace(/\\u2009/g, '') == '1000 events/s').value;
        picker.dispatchEvent(new Event('change', { bubbles: true }));";
    browser.run(choose).await?;
    let state = browser.until("that pace", Duration::from_secs(10), |state| state["pacing"] == "events").await?;
    same("rate", &state["rate"], &json!(1_000))?;
    let event = |state: &Value| state["book"]["event"].as_str().and_then(|event| event.parse::<u64>().ok()).unwrap_or_default();
    let applied = event(&state);
    browser.press(" ").await?;
    let begun = Instant::now();
    let playing = browser.until("the first events", Duration::from_secs(10), |state| event(state) > applied).await?;
    same("status", &playing["status"], &json!("playing"))?;
    same(
        "its word",
        browser.run("return document.querySelector('.status .word').textContent.replace(/\\u2009/g, '')").await?,
        json!("REPLAY 1000 events/s"),
    )?;
    tokio::time::sleep(Duration::from_secs(5)).await;
    browser.press(" ").await?;
    let state = browser.ready().await?;
    let (events, seconds) = (event(&state) - applied, begun.elapsed().as_secs_f64());
    println!("{events} events in about {seconds:.1} s at 1000 a second");
    // No more than were asked for; how many fewer depends on the machine.
    same("not faster than asked", (events as f64) <= seconds * 1_000.0 + 100.0, true)?;
    same("it was paced, not stopped", events > 1_000, true)?;
    browser.press("]").await?;
    let state = browser.until("the next pace", Duration::from_secs(10), |state| state["rate"] == json!(10_000)).await?;
    same("pacing", &state["pacing"], &json!("events"))?;
    browser.console_is_clean().await
}
