/**
 * The largest event that the bus carries. One that it refused would stay in its outbox forever, and two hundred of them would hold back
 * everybody's. A record is as large as its body and its coupons make it (1 MiB of JSON each), three bytes a character at most, and grows little
 * after that; beyond 8 MiB the server warns.
 */
export const largestEventBytes = 8 * 1024 * 1024;

/** What the outbox takes: the bus counts the headers of an event, too, which are some hundred bytes. */
export const largestPayloadBytes = largestEventBytes - 4_096;
