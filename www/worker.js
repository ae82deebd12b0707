// The page's first message is the compiled module; everything after it is for the worker inside.
import init, { worker } from "./tickscope.js";
addEventListener("message", ({ data }) => init({ module_or_path: data }).then(worker).catch((error) => setTimeout(() => { throw error; })), { once: true });
