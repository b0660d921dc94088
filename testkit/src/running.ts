import type { StackProcess } from '@eligo/stack';

/** What each topology brings. */
export interface Running {
  readonly url: string;
  readonly urls: readonly string[];
  readonly demo: { readonly account: string; readonly testApiKey: string; readonly liveApiKey: string };
  readonly processor: { readonly url: string; readonly key: string };
  readonly nats: string;
  processes(): StackProcess[];
  /** Says that a part is about to kill itself. */
  doom(name: string): void;
  kill(name: string): void;
  restart(name: string): Promise<void>;
  recovered(): Promise<void>;
  stop(): Promise<void>;
}
