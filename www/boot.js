// Compiles the one module once; the page initialises itself with it and hands it on to its worker.
import init, { page } from "./tickscope.js";

const say = (text) => {
  let line = document.getElementById("boot");
  if (!line) {
    line = document.createElement("p");
    line.id = "boot";
    line.className = "boot over";
    line.role = "alert";
    document.body.append(line);
  }
  line.textContent = text;
};

async function compile() {
  const response = await fetch(new URL("tickscope_bg.wasm", import.meta.url));
  if (!response.ok) throw new Error(`tickscope_bg.wasm: HTTP ${response.status}`);
  // Some servers, QuestDB's public folder among them, send another content type, which streaming refuses.
  const streams = (response.headers.get("content-type") ?? "").startsWith("application/wasm");
  return streams ? WebAssembly.compileStreaming(response) : WebAssembly.compile(await response.arrayBuffer());
}

addEventListener("error", ({ error }) => {
  if (error instanceof WebAssembly.RuntimeError) say(`The page stopped: ${error.message}. Reload it`);
});

try {
  const module = await compile();
  await init({ module_or_path: module });
  document.getElementById("boot")?.remove();
  page(module);
} catch (error) {
  const old = error instanceof WebAssembly.CompileError;
  say(old ? "This browser is too old: tickscope needs WebAssembly with SIMD (2021 or, for Safari, 2023)" : `Tickscope could not be loaded: ${error.message}. Reload the page`);
  throw error;
}
