/** What an event inherits from the work that it comes from. */
export interface EventContext {
  readonly requestId: string;
  readonly traceparent: string;
}

/** Says once for the process where request id and trace come from (an async context); without it they are empty. */
export function provideEventContext(read: () => Partial<EventContext> | undefined): void {
  reader = read;
}

/** The context of the current work. */
export function currentEventContext(): EventContext {
  const context = reader();
  return { requestId: context?.requestId ?? '', traceparent: context?.traceparent ?? '' };
}

let reader: () => Partial<EventContext> | undefined = () => undefined;
