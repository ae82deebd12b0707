// Replays recorded sessions in the module built from tests/web/sessions.rs; answers the sums over all of them.
const unzipped = async (address) => {
  const response = await fetch(address);
  if (!response.ok) return undefined;
  return new Response(response.body.pipeThrough(new DecompressionStream("gzip")));
};
const replay = async (names) => {
  const { default: init, check_session } = await import("/module/web_sessions.js");
  await init({ module_or_path: fetch("/module/web_sessions_bg.wasm") });
  const sums = [0, 0, 0, 0];
  for (const name of names) {
    const frames = await (await unzipped(`/sessions/${name}/frames.bin.gz`)).arrayBuffer();
    const session = await (await fetch(`/sessions/${name}/session.json`)).text();
    const expected = await (await unzipped(`/sessions/${name}/expected.json.gz`))?.text();
    check_session(name, new Uint8Array(frames), session, expected).forEach((count, index) => (sums[index] += Number(count)));
  }
  return sums;
};
return replay(argument);
