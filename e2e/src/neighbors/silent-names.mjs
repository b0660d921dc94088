// Preloaded into the processes of a test: they look names up at the name server that the query names, and at no other.
import { Resolver } from 'node:dns/promises';

const server = decodeURIComponent(new URL(import.meta.url).search.slice(1));
const told = new WeakSet();

for (const method of ['resolve4', 'resolve6']) {
  const resolve = Resolver.prototype[method];
  Resolver.prototype[method] = function (...given) {
    // The servers cannot be changed while a question is open.
    if (!told.has(this)) this.setServers([server]);
    told.add(this);
    return resolve.apply(this, given);
  };
}
