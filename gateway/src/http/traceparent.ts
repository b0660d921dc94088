/** The trace that a request belongs to, if its header is well formed (W3C trace context). */
export function traceparentOf(header: string | string[] | undefined): string | undefined {
  return typeof header === 'string' && form.test(header) ? header : undefined;
}

const form = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;
