// Preloaded into the processes of a test: their wall clock goes ahead or back by as many milliseconds as the file that the query names has in it.
import { readFileSync, watchFile } from 'node:fs';

const path = decodeURIComponent(new URL(import.meta.url).search.slice(1));
const RealDate = Date;
let aheadMs = 0;

function read() {
  aheadMs = Number(readFileSync(path, 'utf8'));
}

globalThis.Date = class extends RealDate {
  constructor(...given) {
    if (given.length === 0) super(RealDate.now() + aheadMs);
    else super(...given);
  }

  static now() {
    return RealDate.now() + aheadMs;
  }
};

read();
watchFile(path, { interval: 20 }, read).unref();
