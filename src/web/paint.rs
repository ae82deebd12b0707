//! Cells that are written straight into the DOM, and only when what they show changes.

use wasm_bindgen::JsCast;
pub use web_sys::{Element, HtmlElement};

/// All elements within `root` that match `selector`, in document order.
fn within(root: &Element, selector: &str) -> Vec<HtmlElement> {
    let Ok(found) = root.query_selector_all(selector) else { return Vec::new() };
    (0..found.length()).filter_map(|index| found.get(index)?.dyn_into().ok()).collect()
}

/// Elements whose text is painted.
pub struct Texts(Vec<(HtmlElement, String)>);

impl Texts {
    /// The elements within `root` that match `selector`.
    #[must_use]
    pub fn within(root: &impl AsRef<Element>, selector: &str) -> Texts {
        Texts(within(root.as_ref(), selector).into_iter().map(|element| (element, String::new())).collect())
    }

    /// Shows a text in the element at `index`.
    pub fn set(&mut self, index: usize, text: &str) {
        if let Some((element, shown)) = self.0.get_mut(index)
            && shown != text
        {
            element.set_text_content(Some(text));
            text.clone_into(shown);
        }
    }
}

/// Elements with a painted share of their length.
pub struct Shares {
    elements: Vec<(HtmlElement, u16)>,
    property: &'static str,
    form: fn(f64) -> String,
}

impl Shares {
    /// Bars that are drawn at full length and scaled.
    #[must_use]
    pub fn bars(root: &impl AsRef<Element>, selector: &str) -> Shares {
        Shares::new(root, selector, "transform", |share| format!("scaleX({share:.3})"))
    }

    /// Marks that stand at a share of the length of what they lie in.
    #[must_use]
    pub fn places(root: &impl AsRef<Element>, selector: &str) -> Shares {
        Shares::new(root, selector, "left", |share| format!("{:.3}%", share * 100.0))
    }

    fn new(root: &impl AsRef<Element>, selector: &str, property: &'static str, form: fn(f64) -> String) -> Shares {
        let elements = within(root.as_ref(), selector).into_iter().map(|element| (element, u16::MAX)).collect();
        Shares { elements, property, form }
    }

    /// Shows a share, 0 to 1, in the element at `index`. Less than 1/10,000 is no change.
    pub fn set(&mut self, index: usize, share: f64) {
        let steps = (share.clamp(0.0, 1.0) * 10_000.0).round() as u16;
        if let Some((element, shown)) = self.elements.get_mut(index)
            && *shown != steps
        {
            *shown = steps;
            let _ = element.style().set_property(self.property, &(self.form)(share));
        }
    }
}

/// An attribute that is painted: present with a value, or absent.
pub struct Mark {
    element: Element,
    name: &'static str,
    shown: Option<&'static str>,
}

impl Mark {
    /// The attribute `name` of an element; it begins absent.
    #[must_use]
    pub fn of(element: &impl AsRef<Element>, name: &'static str) -> Mark {
        Mark { element: element.as_ref().clone(), name, shown: None }
    }

    /// The attribute of every element below `root` that the selector picks, in the document's order.
    #[must_use]
    pub fn all(root: &impl AsRef<Element>, selector: &str, name: &'static str) -> Vec<Mark> {
        let marks = within(root.as_ref(), selector).into_iter();
        marks.map(|element| Mark { element: element.unchecked_into(), name, shown: None }).collect()
    }

    /// Sets or removes it.
    pub fn set(&mut self, value: Option<&'static str>) {
        if self.shown != value {
            let _ = match value {
                Some(value) => self.element.set_attribute(self.name, value),
                None => self.element.remove_attribute(self.name),
            };
            self.shown = value;
        }
    }
}
