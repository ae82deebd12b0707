// The ladder as it is drawn, best first: `{bids: [{price, size, count}…], asks: […]}`, numbers as plain decimals.
const plain = (element) => element.textContent.replace(/[\s\u2009\u202f\u00a0]/g, "").replace("\u2212", "-");
const side = (name) =>
  [...document.querySelectorAll(`.ladder tr[data-side=${name}]`)]
    .map((row) => ({
      level: Number(row.dataset.level),
      price: plain(row.querySelector(".price")).replace(/(\.\d*?)0+$/, "$1").replace(/\.$/, ""),
      size: plain(row.querySelector(".size span")),
      count: plain(row.querySelector(".orders")),
    }))
    .filter((row) => row.price !== "")
    .sort((a, b) => a.level - b.level)
    .map((row) => ({ price: row.price, size: row.size, count: row.count === "" ? null : Number(row.count) }));
return { bids: side("bid"), asks: side("ask") };
