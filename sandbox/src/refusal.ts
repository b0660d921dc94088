/** The `error` object of an answer, as Stripe renders it; absent fields are left out. */
export interface RefusalBody {
  type: 'api_error' | 'card_error' | 'idempotency_error' | 'invalid_request_error';
  message: string;
  code?: string;
  decline_code?: string;
  param?: string;
  charge?: string;
  payment_intent?: object;
  payment_method?: object;
  setup_intent?: object;
}

/** An answer that is not a 2xx. What was written before it was thrown is kept: a decline is a fact, not a failure. */
export class Refusal extends Error {
  readonly status: number;
  readonly body: RefusalBody;

  constructor(status: number, body: RefusalBody) {
    super(body.message);
    this.name = 'Refusal';
    this.status = status;
    this.body = body;
  }
}

export function invalidRequest(message: string, details: { param?: string; code?: string } = {}): Refusal {
  return new Refusal(400, { type: 'invalid_request_error', message, ...details });
}

export function missingRecord(kind: string, id: string, param = 'id', status = 404): Refusal {
  return new Refusal(status, {
    type: 'invalid_request_error',
    code: 'resource_missing',
    message: `No such ${kind.replaceAll('_', '')}: '${id}'`,
    param,
  });
}

export function rateLimited(): Refusal {
  return new Refusal(429, {
    type: 'invalid_request_error',
    code: 'rate_limit',
    message: 'Request rate limit exceeded. You can retry this request later.',
  });
}

export function internalError(): Refusal {
  return new Refusal(500, {
    type: 'api_error',
    message: 'An unknown error occurred. The request may or may not have been carried out.',
  });
}
