export { processorMsOf, unlessGone } from './processor-time.ts';
export { type Json, record, records, text } from './records.ts';
export { runCli } from './run-cli.ts';
export { confirm, make, newCard, newCustomer, newSession, openShop, type Shop } from './shop.ts';
