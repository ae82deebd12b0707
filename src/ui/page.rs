//! What all components share: the signals of slow state, and the one way to the worker.

use std::cell::RefCell;
use std::rc::Rc;

use leptos::prelude::*;
use serde_json::Value;
use wasm_bindgen::JsValue;

use crate::link::{
    Command, Counters, ErrorJson, Histogram, Open, Range, Standing, State, Status, StoreInfo, StoreKind, TapeRows, TapeView, TimelineView, ToWorker,
};
use crate::view::counters::{Behind, PaintRate};
use crate::view::keys::Action;
use crate::view::places::{self, Remembered};
use crate::view::track::Track;
use crate::view::{address, timeline, welcome, wording};
use crate::web::dom::Window;
use crate::web::frames::Frames;
use crate::web::worker_handle::{WorkerEvent, WorkerHandle};
use crate::web::{dom, handle, storage, stores, upload};

/// How often a running import is asked for.
const IMPORT_POLL_MILLIS: i32 = 500;

/// What can be shown where there is room for one panel only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Panel {
    /// The ladder.
    Book,
    /// Time and sales.
    Tape,
    /// Source, binding, counters.
    Details,
}

impl Panel {
    /// The value of the attribute that the style sheet reads.
    pub fn name(self) -> &'static str {
        match self {
            Panel::Book => "book",
            Panel::Tape => "tape",
            Panel::Details => "details",
        }
    }

    /// Its tab's label.
    pub fn label(self) -> &'static str {
        match self {
            Panel::Book => "Book",
            Panel::Tape => "Time & sales",
            Panel::Details => "Details",
        }
    }
}

/// What lies on top of the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialog {
    /// Ask for a time.
    GoTo,
    /// Ask for the address of a store.
    Connect,
    /// The keys.
    Keys,
}

/// A file on its way to the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upload {
    /// Which one.
    pub id: u32,
    /// The file's name.
    pub name: String,
    /// Bytes sent.
    pub sent: u64,
    /// Bytes in all.
    pub total: u64,
    /// Why it was not taken; it stays until it is dismissed.
    pub error: Option<String>,
}

/// The page's shared state; copies are the same page.
#[derive(Clone, Copy)]
pub struct Page {
    /// What the worker reported last.
    pub state: RwSignal<State>,
    /// Four times a second.
    pub counters: RwSignal<Counters>,
    /// Frames painted over the last second.
    pub painted: RwSignal<Option<u32>>,
    /// The clock is behind its schedule, for long enough to be said.
    pub behind: RwSignal<bool>,
    /// What failed on this side of the worker.
    pub failure: RwSignal<Option<ErrorJson>>,
    /// The stores of the server, with their imports.
    pub stores: RwSignal<Vec<StoreInfo>>,
    /// Why the last command was refused; empty when it was not.
    pub notice: RwSignal<String>,
    /// Counts refused commands, so that pickers return to what is open.
    pub refusals: RwSignal<u32>,
    /// What lies on top.
    pub dialog: RwSignal<Option<Dialog>>,
    /// The panel of narrow windows.
    pub panel: RwSignal<Panel>,
    /// Counts the wishes to centre the ladder.
    pub centre: RwSignal<u32>,
    /// Activity over the part of the range that the timeline shows.
    pub histogram: RwSignal<Option<Histogram>>,
    /// The part of the range that the timeline shows; `None` is the whole.
    pub zoom: RwSignal<Option<Range>>,
    /// The instruments are shown to choose from, over what is open.
    pub chooser: RwSignal<bool>,
    /// Files on their way to the server, and those that it did not take.
    pub uploads: RwSignal<Vec<Upload>>,
    /// Files are dragged over the page.
    pub dragging: RwSignal<bool>,
    /// The last frame is of another store than the one that is being opened: it must not stand under that one's name.
    pub elsewhere: RwSignal<bool>,
    reach: StoredValue<Reach, LocalStorage>,
}

/// Called with what the worker sends for the tape.
type OnTape = Box<dyn FnMut(TapeRows)>;

/// The browser-side objects, which are not `Send` and so live beside the signals.
struct Reach {
    window: Window,
    frames: Frames,
    worker: Option<WorkerHandle>,
    paint_rate: PaintRate,
    behind: Behind,
    /// Stores that the user gave by their addresses.
    added: Vec<StoreInfo>,
    /// What the panels show: said again to a new worker.
    tape_view: Option<TapeView>,
    timeline_view: Option<TimelineView>,
    on_tape: Rc<RefCell<Option<OnTape>>>,
    /// What the worker's memory came to after it was renewed for it: what stands there needs as much, so that only growth past it is
    /// a reason to do it again.
    needed_bytes: u64,
    /// What a reload would open, as it was last kept.
    kept: String,
    /// The store of the last frame.
    framed: Option<String>,
    uploads: u32,
}

impl Page {
    /// The page of the component that asks.
    pub fn get() -> Page {
        expect_context::<Page>()
    }

    /// Spawns the worker, asks for the stores, listens to keys.
    pub fn begin(module: JsValue) -> Page {
        let window = window();
        let frames = Frames::new(window.clone());
        // What an older version kept, or nobody did, is no place.
        let remembered = storage::place(&window).and_then(|text| serde_json::from_str::<Remembered>(&text).ok());
        let reach = Reach {
            window: window.clone(),
            frames: frames.clone(),
            worker: None,
            paint_rate: PaintRate::default(),
            behind: Behind::default(),
            tape_view: None,
            timeline_view: None,
            on_tape: Rc::default(),
            added: remembered.as_ref().map(|place| place.added.clone()).unwrap_or_default(),
            needed_bytes: 0,
            kept: String::new(),
            framed: None,
            uploads: 0,
        };
        let page = Page {
            state: RwSignal::new(State { status: Status::Connecting, ..State::default() }),
            counters: RwSignal::default(),
            painted: RwSignal::default(),
            behind: RwSignal::default(),
            failure: RwSignal::default(),
            stores: RwSignal::default(),
            notice: RwSignal::default(),
            refusals: RwSignal::default(),
            dialog: RwSignal::default(),
            panel: RwSignal::new(Panel::Book),
            centre: RwSignal::default(),
            histogram: RwSignal::default(),
            zoom: RwSignal::default(),
            chooser: RwSignal::default(),
            uploads: RwSignal::default(),
            dragging: RwSignal::default(),
            elsewhere: RwSignal::default(),
            reach: StoredValue::new_local(reach),
        };
        let worker = WorkerHandle::spawn(module, frames, move |event| page.worker_event(event));
        page.reach.update_value(|reach| reach.worker = Some(worker));
        dom::on_key(&window, move |key, held| page.key(key, held));
        dom::on_visibility(&window, move |visible| page.with_worker(|worker| worker.send(ToWorker::Visible(visible))));
        page.install_handle();
        upload::on_drop(&window, move |over| page.dragging.set(over), move |files| page.add_files(files));
        page.find_stores(remembered);
        page
    }

    /// The frame loop, for painters.
    pub fn frames(self) -> Frames {
        self.reach.with_value(|reach| reach.frames.clone())
    }

    /// The browser's window.
    pub fn window(self) -> Window {
        self.reach.with_value(|reach| reach.window.clone())
    }

    fn with_worker(self, use_it: impl FnOnce(&WorkerHandle)) {
        // Cloned out: what is done with it may come back here.
        if let Some(worker) = self.reach.with_value(|reach| reach.worker.clone()) {
            use_it(&worker);
        }
    }

    /// Opens the store at a typed address, and lists it from now on.
    ///
    /// # Errors
    /// What is wrong with the address.
    pub fn connect(self, typed: &str) -> Result<(), String> {
        let store = address::store_at(typed)?;
        let name = store.name.clone();
        self.reach.update_value(|reach| {
            reach.added.retain(|known| known.name != name);
            reach.added.push(store);
        });
        let served = self.stores.get_untracked().into_iter().filter(|known| known.name != name).collect();
        self.list_stores(served);
        self.send(&places::source(&name));
        Ok(())
    }

    /// Takes in the stores of the server, and adds those that the user gave.
    fn list_stores(self, served: Vec<StoreInfo>) {
        let mut stores = served;
        self.reach.with_value(|reach| {
            stores.retain(|store| !reach.added.iter().any(|added| added.name == store.name));
            stores.extend(reach.added.iter().cloned());
        });
        self.stores.set(stores.clone());
        self.with_worker(|worker| worker.send(ToWorker::Start { stores }));
    }

    /// Tells the worker what the tape shows, when that changes.
    pub fn show_tape(self, view: Option<TapeView>) {
        let changed = self.reach.try_update_value(|reach| {
            let changed = reach.tape_view != view;
            reach.tape_view.clone_from(&view);
            changed
        });
        if changed == Some(true) {
            self.with_worker(|worker| worker.send(ToWorker::Tape(view)));
        }
    }

    /// Sets who hears of the tape's rows.
    pub fn on_tape(self, listener: impl FnMut(TapeRows) + 'static) {
        let slot = self.reach.with_value(|reach| Rc::clone(&reach.on_tape));
        *slot.borrow_mut() = Some(Box::new(listener));
    }

    /// Tells the worker which part of the range the timeline shows, when that changes.
    pub fn show_timeline(self, view: Option<TimelineView>) {
        let changed = self.reach.try_update_value(|reach| {
            let changed = reach.timeline_view != view;
            reach.timeline_view.clone_from(&view);
            changed
        });
        if changed == Some(true) {
            self.with_worker(|worker| worker.send(ToWorker::Timeline(view)));
        }
    }

    /// A part of the state that notifies only when it changes.
    pub fn select<T: PartialEq + Send + Sync + 'static>(self, part: impl Fn(&State) -> T + Send + Sync + 'static) -> Memo<T> {
        Memo::new(move |_| self.state.with(&part))
    }

    /// Sends a command. A refusal is shown until the next command succeeds.
    pub fn send(self, command: &Command) {
        if matches!(command, Command::Open(_)) {
            self.chooser.set(false);
        }
        if let Command::Open(open) = command
            && self.state.with_untracked(|state| state.source.is_some() && open.source.is_some() && open.source != state.source)
        {
            return self.renew(open.clone(), None);
        }
        self.order(command);
    }

    fn order(self, command: &Command) {
        self.request(command.to_json(), move |result| match result {
            Ok(()) => self.notice.set(String::new()),
            Err(refusal) => {
                self.notice.set(refusal);
                self.refusals.update(|count| *count += 1);
            }
        });
    }

    fn request(self, command: Value, then: impl FnOnce(Result<(), String>) + 'static) {
        self.with_worker(|worker| {
            let answer = move |result: Result<Box<State>, String>| then(result.map(|state| self.take_state(*state)));
            worker.request(command, Box::new(answer));
        });
    }

    /// Asks for the book's digest; `then` gets the state that holds it.
    pub fn with_digest(self, then: impl FnOnce(Result<Box<State>, String>) + 'static) {
        self.with_worker(|worker| worker.get_state(Box::new(then)));
    }

    /// Does what a key or button means.
    pub fn act(self, action: Action) {
        match action {
            Action::GoTo => self.dialog.set(Some(Dialog::GoTo)),
            Action::Help => self.dialog.set(Some(Dialog::Keys)),
            Action::Choose => self.choose(),
            Action::Centre => self.centre.update(|count| *count += 1),
            Action::Loop => self.toggle_loop(),
            Action::ZoomIn => self.zoom_by(None, timeline::ZOOM),
            Action::ZoomOut => self.zoom_by(None, 1.0 / timeline::ZOOM),
            Action::PanBack => self.pan(-timeline::PAN),
            Action::PanForward => self.pan(timeline::PAN),
            Action::ZoomWhole => self.zoom.set(None),
            Action::Dismiss => {
                self.dialog.set(None);
                self.chooser.set(false);
                self.notice.set(String::new());
            }
            _ => {
                if let Some(command) = self.state.with_untracked(|state| action.command(state)) {
                    self.send(&command);
                }
            }
        }
    }

    /// The range, and the part of it that the timeline shows.
    fn tracks(self) -> Option<(Track, Track)> {
        let whole = self.state.with_untracked(|state| state.range.as_ref().and_then(Track::of_range))?;
        Some((whole, self.zoom.with_untracked(|zoom| zoom.as_ref().and_then(Track::of_range)).unwrap_or(whole)))
    }

    /// Shows a shorter (below 1) or longer part of the range: around a fraction of what is shown, or around the moment on screen.
    pub fn zoom_by(self, around: Option<f64>, factor: f64) {
        if let Some((whole, shown)) = self.tracks() {
            let around = around.unwrap_or_else(|| self.state.with_untracked(|state| timeline::playhead(state, shown)));
            self.zoom.set(timeline::zoomed(shown, whole, around, factor));
        }
    }

    /// Shows the part of the range that lies before (below 0) or after the one shown, by a share of its length.
    pub fn pan(self, share: f64) {
        if let Some((whole, shown)) = self.tracks()
            && shown != whole
        {
            self.zoom.set(Some(timeline::panned(shown, whole, share)));
        }
    }

    /// Ends the loop, or begins one over what the timeline shows.
    fn toggle_loop(self) {
        let looped = self.state.with_untracked(|state| state.looped.is_some());
        match (looped, self.tracks()) {
            (true, _) => self.send(&Command::Loop(None)),
            (false, Some((_, shown))) => self.send(&Command::Loop(Some(Range { from: shown.from().to_string(), to: shown.to().to_string() }))),
            (false, None) => {}
        }
    }

    /// Does what a key means; answers whether it means anything.
    fn key(self, key: &str, held: bool) -> bool {
        let action = Action::of_key(key);
        if let Some(action) = action.filter(|action| !held || action.repeats()) {
            self.act(action);
        }
        action.is_some()
    }

    /// The sentence for those who cannot see the page.
    pub fn announcement(self) -> Memo<String> {
        Memo::new(move |_| match self.failure.get() {
            Some(failure) => failure.what,
            None => self.state.with(wording::announcement),
        })
    }

    /// The state as it is marked, with what failed on this side.
    pub fn marked_status(self) -> Memo<Status> {
        Memo::new(move |_| if self.failure.with(Option::is_some) { Status::Failed } else { self.state.with(wording::marked_status) })
    }

    /// What failed, on either side, and has no place of its own on the page.
    pub fn error(self) -> Memo<Option<ErrorJson>> {
        Memo::new(move |_| self.failure.get().or_else(|| self.state.with(|state| wording::banner_error(state).cloned())))
    }

    /// Mends what failed on this side: asks for the stores again, with a new worker if the old one is gone, and opens what was open.
    pub fn restart(self) {
        let place = self.remember();
        let worker_is_well = self.failure.with_untracked(|failure| failure.as_ref().is_some_and(|failure| failure.code == wording::STORES));
        self.failure.set(None);
        if !worker_is_well {
            self.with_worker(WorkerHandle::restart);
        }
        self.find_stores(place);
    }

    /// Opens a place in a new worker, which goes on from where the old one stood if it said so. Memory of WebAssembly never shrinks,
    /// so what one source grew to must not stay for the next.
    fn renew(self, open: Open, standing: Option<Standing>) {
        let kept = self.state.with_untracked(|state| {
            let paced = state.rate.filter(|_| state.pacing == "events").map(Command::PaceByEvents);
            let same = open.source == state.source && open.table == state.table && open.range == state.range;
            let looped = state.looped.clone().filter(|_| same).map(|range| Command::Loop(Some(range)));
            [Some(Command::Speed(state.speed)), paced, looped, (state.status == Status::Playing).then_some(Command::Play)]
        });
        let stores = self.stores.get_untracked();
        self.with_worker(|worker| {
            worker.restart();
            worker.send(ToWorker::Start { stores });
            if let Some(standing) = standing {
                worker.send(ToWorker::TakeOver(standing));
            }
        });
        self.order(&Command::Open(open));
        for command in kept.iter().flatten() {
            self.order(command);
        }
    }

    /// A worker that grew to half as much again as it may keep is renewed where it stands.
    fn bound_memory(self, counters: &Counters) {
        let budget = counters.history_budget_bytes;
        let Some(bytes) = counters.wasm_bytes.filter(|_| budget > 0) else { return };
        let needed = self.reach.with_value(|reach| reach.needed_bytes);
        // Rows that wait to be applied, or an event group that is kept whole, would be needed again at once.
        let in_use = counters.history_bytes > budget || counters.queued_bytes > budget / 2;
        if in_use || bytes <= (budget + budget / 2).max(needed + needed / 2) {
            return;
        }
        let settled = |state: &State| matches!(state.status, Status::Playing | Status::Paused | Status::Ended) && state.as_of.is_some();
        if self.state.with_untracked(settled) {
            self.reach.update_value(|reach| reach.needed_bytes = bytes);
            self.with_worker(|worker| worker.send(ToWorker::HandOver));
        }
    }

    /// Asks the server for its stores, tells the worker, opens a place or offers what there is; then watches running imports.
    fn find_stores(self, place: Option<Remembered>) {
        let window = self.window();
        dom::spawn(async move {
            match stores::list(&window).await {
                Ok(list) => {
                    self.failure.set(None);
                    self.list_stores(list);
                    match place {
                        Some(place) => self.open_again(place),
                        None => self.look(),
                    }
                    self.watch_imports().await;
                }
                Err(detail) => self.failure.set(Some(wording::stores_unreachable(&detail))),
            }
        });
    }

    /// Opens what was open before, or says why that cannot be and offers what there is.
    fn open_again(self, place: Remembered) {
        self.request(Command::Open(place.open).to_json(), move |result| {
            if let Err(reason) = result {
                self.look();
                self.notice.set(wording::place_is_gone(&reason));
            }
        });
        self.order(&Command::Speed(place.speed));
        if let Some(rate) = place.rate {
            self.order(&Command::PaceByEvents(rate));
        }
    }

    /// Opens the only table that there is, or shows what there is to choose from.
    fn look(self) {
        self.request(Command::Browse { source: None }.to_json(), move |result| match result {
            Ok(()) => {
                let only = self.state.with_untracked(|state| welcome::only_choice(state, &self.importing()));
                if let Some(open) = only {
                    self.order(&Command::Open(open));
                }
            }
            // Opening says in its own words what is wrong.
            Err(_) => self.order(&Command::Open(Open::default())),
        });
    }

    /// Shows the instruments of the open store to choose from.
    fn choose(self) {
        self.chooser.set(true);
        self.order(&Command::Browse { source: self.state.with_untracked(|state| state.source.clone()) });
    }

    /// Whether there is a choice to make before there is something to see.
    pub fn choosing(self) -> Memo<bool> {
        Memo::new(move |_| {
            let nothing_open = |state: &State| state.status == Status::Idle && state.table.is_none() && state.error.is_none();
            self.chooser.get() || (self.failure.with(Option::is_none) && self.state.with(nothing_open))
        })
    }

    /// Tables that are being imported.
    fn importing(self) -> Vec<String> {
        let running = |import: &&crate::link::Import| import.error.is_none();
        self.stores
            .with_untracked(|stores| stores.iter().flat_map(|store| &store.importing).filter(running).map(|import| import.table.clone()).collect())
    }

    /// What a reload should open.
    fn remember(self) -> Option<Remembered> {
        self.reach.with_value(|reach| self.state.with_untracked(|state| places::remember(state, &reach.added)))
    }

    /// Keeps the place for a reload.
    fn keep_place(self) {
        let Some(text) = self.remember().and_then(|place| serde_json::to_string(&place).ok()) else { return };
        let window = self.window();
        self.reach.update_value(|reach| {
            if reach.kept != text {
                storage::set_place(&window, &text);
                reach.kept = text;
            }
        });
    }

    /// Shows the browser's own dialog for files.
    pub fn pick_files(self) {
        dom::click(&self.window(), "open-file");
    }

    /// Takes an upload that was refused off the page.
    pub fn forget_upload(self, id: u32) {
        self.uploads.update(|uploads| uploads.retain(|upload| upload.id != id));
    }

    /// Sends files to the server, one after another, and opens the last of the tables that they become.
    pub fn add_files(self, files: Vec<upload::File>) {
        let queued: Vec<_> = files.into_iter().map(|file| (self.begin_upload(&file), file)).collect();
        dom::spawn(async move {
            for (id, file) in queued {
                if let Err(refusal) = self.upload(id, &file).await {
                    self.change_upload(id, |upload| upload.error = Some(refusal.clone()));
                }
            }
        });
    }

    fn begin_upload(self, file: &upload::File) -> u32 {
        let id = self.reach.try_update_value(|reach| {
            reach.uploads += 1;
            reach.uploads
        });
        let id = id.unwrap_or_default();
        let upload = Upload { id, name: file.name(), sent: 0, total: file.size() as u64, error: None };
        self.uploads.update(|uploads| uploads.push(upload));
        id
    }

    fn change_upload(self, id: u32, change: impl FnMut(&mut Upload)) {
        self.uploads.update(|uploads| uploads.iter_mut().find(|upload| upload.id == id).into_iter().for_each(change));
    }

    /// Sends a file, waits for its import, opens its table.
    async fn upload(self, id: u32, file: &upload::File) -> Result<(), String> {
        let name = file.name();
        let embedded =
            self.stores.with_untracked(|stores| stores.iter().find(|store| store.kind == StoreKind::Embedded && store.name == "embedded").cloned());
        let store = embedded.ok_or_else(|| wording::nobody_takes_files(&name))?;
        let progress = move |sent, total| {
            self.change_upload(id, |upload| {
                upload.sent = sent;
                upload.total = total;
            });
        };
        let (status, body) = upload::send(file, progress).await.map_err(|why| format!("{name} was not opened: {why}"))?;
        let table = (status == 200).then(|| wording::uploaded_table(&body)).flatten().ok_or_else(|| wording::upload_refused(&name, status, &body))?;
        self.forget_upload(id);
        let window = self.window();
        loop {
            if let Ok(list) = stores::list(&window).await {
                let import = list.iter().flat_map(|store| &store.importing).find(|import| import.table == table).cloned();
                self.list_stores(list);
                match import {
                    None => break,
                    // It stands among the imports, with its reason.
                    Some(import) if import.error.is_some() => return Ok(()),
                    Some(_) => {}
                }
            }
            dom::sleep(&window, IMPORT_POLL_MILLIS).await;
        }
        self.send(&Command::Open(Open { source: Some(store.name), table: Some(table), ..Open::default() }));
        Ok(())
    }

    async fn watch_imports(self) {
        let window = self.window();
        let running = |stores: &Vec<StoreInfo>| stores.iter().flat_map(|store| &store.importing).filter(|import| import.error.is_none()).count();
        let mut before = self.stores.with_untracked(running);
        while before > 0 {
            dom::sleep(&window, IMPORT_POLL_MILLIS).await;
            let Ok(list) = stores::list(&window).await else { continue };
            let now = running(&list);
            // What the worker says of its tables depends on it.
            self.list_stores(list);
            // A table has come. Whoever waits for one is shown it; whoever watches another is left alone.
            if now < before && self.state.with_untracked(|state| state.book.is_none() && state.as_of.is_none()) {
                self.look();
            }
            before = now;
        }
    }

    fn worker_event(self, event: WorkerEvent) {
        match event {
            // A page opened in a background tab is hidden from the start.
            WorkerEvent::Ready => self.with_worker(|worker| {
                worker.send(ToWorker::Visible(dom::is_visible(&self.window())));
                let (tape, timeline) = self.reach.with_value(|reach| (reach.tape_view.clone(), reach.timeline_view.clone()));
                worker.send(ToWorker::Tape(tape));
                worker.send(ToWorker::Timeline(timeline));
            }),
            WorkerEvent::State(state) => self.take_state(*state),
            WorkerEvent::Counters(counters) => self.take_counters(*counters),
            WorkerEvent::Tape(rows) => {
                let listener = self.reach.with_value(|reach| Rc::clone(&reach.on_tape));
                if let Some(listener) = listener.borrow_mut().as_mut() {
                    listener(*rows);
                }
            }
            WorkerEvent::Histogram(histogram) => self.histogram.set(Some(*histogram)),
            WorkerEvent::HandedOver(Some(standing)) => self.renew((*standing.open).clone(), Some(standing)),
            WorkerEvent::HandedOver(None) => {}
            WorkerEvent::Stopped(detail) => self.failure.set(Some(wording::worker_stopped(&detail))),
            WorkerEvent::Unreadable(detail) => self.failure.set(Some(wording::unreadable_message(&detail))),
        }
    }

    fn take_state(self, state: State) {
        if state.as_of.is_some() {
            self.reach.update_value(|reach| reach.framed.clone_from(&state.source));
        }
        let framed = self.reach.with_value(|reach| reach.framed.clone());
        let elsewhere = framed.is_some() && state.source.is_some() && framed != state.source;
        if self.elsewhere.get_untracked() != elsewhere {
            self.elsewhere.set(elsewhere);
        }
        if self.state.with_untracked(|shown| *shown != state) {
            self.state.set(state);
        }
    }

    fn take_counters(self, counters: Counters) {
        let judged = self.reach.try_update_value(|reach| (reach.paint_rate.push(counters.frames_painted), reach.behind.push(counters.lag_millis)));
        if let Some((painted, behind)) = judged {
            self.painted.set(painted);
            if self.behind.get_untracked() != behind {
                self.behind.set(behind);
            }
        }
        self.bound_memory(&counters);
        self.keep_place();
        self.counters.set(counters);
    }

    fn install_handle(self) {
        let installed = handle::install(
            &self.window(),
            move |answer| match self.failure.get_untracked() {
                // The worker cannot answer; its last state is still what is on screen.
                Some(error) => answer(Ok(Box::new(State { status: Status::Failed, error: Some(error), ..self.state.get_untracked() }))),
                None => self.with_digest(answer),
            },
            move |command, answer| {
                self.with_worker(|worker| {
                    let shown = move |result: Result<Box<State>, String>| {
                        if let Ok(state) = &result {
                            self.take_state((**state).clone());
                        }
                        answer(result);
                    };
                    worker.request(command, Box::new(shown));
                });
            },
        );
        if let Err(detail) = installed {
            self.failure.set(Some(wording::unreadable_message(&format!("window.tickscope: {detail}"))));
        }
    }
}
