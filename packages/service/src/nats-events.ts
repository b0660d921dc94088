import type { ConnectEvents } from './event-plumbing.ts';

/** The event bus of production: NATS JetStream, by @eligo/events. */
export const connectNatsEvents: ConnectEvents = () => Promise.reject(new Error('the event bus is not connected yet'));
