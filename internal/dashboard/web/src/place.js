// Where the reader is among these pages.

// go shows an address of these pages. Who shows pages hears of it as "place".
export function go(address) {
  history.pushState(null, "", address);
  dispatchEvent(new Event("place"));
}
