import { Code, ConnectError } from '@connectrpc/connect';
import { describe, expect, test } from 'vitest';
import { fromConnectError, toConnectError } from './codec.ts';
import { Failure, failureAnswer } from './failure.ts';
import { recordNames } from './records.ts';
import { type FailureCode, failureTable, isFailureCode } from './table.ts';

const codes = Object.keys(failureTable) as FailureCode[];

describe('the failure table', () => {
  test('has the confirm table of the interface (Errors 5) with its statuses', () => {
    const confirm: [number, FailureCode[]][] = [
      [
        400,
        [
          'idempotency_key_required',
          'checkout_session_already_processed',
          'checkout_session_expired',
          'checkout_session_canceled',
        ],
      ],
      [
        404,
        [
          'checkout_session_not_found',
          'payment_method_not_found',
          'customer_not_found',
          'eligibility_record_not_found',
          'food_eligibility_not_enabled',
        ],
      ],
      [409, ['eligibility_record_already_charged', 'idempotency_key_reused']],
      [422, ['manual_capture_not_supported', 'payment_method_not_off_session']],
      [503, ['idempotency_key_in_use', 'lock_timeout']],
      [402, ['card_declined', 'authentication_required']],
    ];
    for (const [status, list] of confirm) {
      for (const code of list) expect([code, failureTable[code].status]).toEqual([code, status]);
    }
  });

  test('has the further codes of the decisions (10, 13) with their statuses', () => {
    const further: [number, FailureCode[]][] = [
      [400, ['checkout_amount_too_low', 'invalid_json']],
      [401, ['unauthorized']],
      [403, ['insufficient_scope', 'payment_method_allocation_not_enabled']],
      [405, ['method_not_allowed']],
      [
        409,
        [
          'component_already_registered',
          'client_reference_id_in_use',
          'lookup_key_in_use',
          'subscription_not_cancelable',
        ],
      ],
      [410, ['endpoint_removed']],
      [413, ['payload_too_large']],
      [415, ['unsupported_media_type']],
      [
        422,
        [
          'customer_required',
          'checkout_session_not_captured',
          'refund_amount_exceeds_remaining',
          'capture_amount_exceeds_authorized',
          'refund_amount_invalid',
          'refund_limit_reached',
          'payment_intent_not_succeeded',
          'promo_code_invalid',
          'coupon_not_applicable',
          'card_number_not_allowed',
          'price_required',
        ],
      ],
      [429, ['rate_limited', 'declined_cards_exceeded']],
      [503, ['processor_not_configured']],
    ];
    for (const [status, list] of further) {
      for (const code of list) expect([code, failureTable[code].status]).toEqual([code, status]);
    }
  });

  test('has a not-found for every record', () => {
    for (const record of recordNames) expect(failureTable[`${record}_not_found`].status).toBe(404);
  });

  test.each(codes)('%s says what happened and what to do, in sentences [D10.3]', (code) => {
    const { detail, remedy } = failureTable[code];
    for (const text of [detail, remedy]) expect(text).toMatch(/^[A-Za-z].*\.$/);
    expect(code).toMatch(/^[a-z][a-z_]*$/);
  });

  test('advises the same request again exactly for what may pass: 429, 500 and 503', () => {
    for (const code of codes) {
      const { status, retry } = failureTable[code];
      if (code === 'processor_not_configured') expect(retry).toBe('after_change');
      else expect([code, retry === 'same_request']).toEqual([code, [429, 500, 503].includes(status)]);
    }
  });
});

describe('a Failure', () => {
  test('is answered with its code, what happened and what to do about it [D14.28]', () => {
    expect(failureAnswer(new Failure('price_not_found'))).toEqual({
      status: 404,
      headers: {},
      body: {
        code: 'price_not_found',
        detail: 'No such price. Check the identifier, and the account and mode of the API key.',
      },
    });
    const { body } = failureAnswer(new Failure('conflict', { detail: 'The endpoint is disabled.' }));
    expect(body.detail).toBe(`The endpoint is disabled. ${failureTable.conflict.remedy}`);
  });

  test('of a card carries the decline code', () => {
    const { status, body } = failureAnswer(new Failure('card_declined', { declineCode: 'insufficient_funds' }));
    expect(status).toBe(402);
    expect(body).toEqual({
      code: 'card_declined',
      detail: 'The card was declined. Use another card.',
      decline_code: 'insufficient_funds',
    });
  });

  test('that may pass says when to ask again', () => {
    expect(failureAnswer(new Failure('lock_timeout', { retryAfterSeconds: 0.2 })).headers).toEqual({
      'Retry-After': '1',
    });
  });

  test('of a field is a list and has no code [D13.5]', () => {
    const failure = Failure.invalid(['body', 'price', 'unit_amount'], 'int_type', 'must be whole cents');
    expect(failureAnswer(failure)).toEqual({
      status: 422,
      headers: {},
      body: { detail: [{ loc: ['body', 'price', 'unit_amount'], msg: 'must be whole cents', type: 'int_type' }] },
    });
  });
});

describe('an entry of a 422', () => {
  const told = (type: string, msg: string) => {
    const { body } = failureAnswer(Failure.invalid(['body', 'x'], type, msg));
    return 'code' in body ? undefined : body.detail;
  };

  test('that is a code alone says what happened and what to do about it [D14.56]', () => {
    const { detail, remedy } = failureTable.promo_code_invalid;
    expect(told('promo_code_invalid', 'promo_code_invalid')).toEqual([
      { loc: ['body', 'x'], msg: `promo_code_invalid: ${detail} ${remedy}`, type: 'promo_code_invalid' },
    ]);
  });

  test('that names a record, or has words of its own, stays as it is [D14.56]', () => {
    const named = 'price_not_found: fprice_01kdy9q2twabcdefghjkmnpqrs';
    expect(told('price_not_found', named)).toMatchObject([{ msg: named }]);
    expect(told('missing', 'missing')).toMatchObject([{ msg: 'missing' }]);
  });
});

describe('a Failure across a call', () => {
  test.each(codes)('%s arrives intact', (code) => {
    const sent = new Failure(code, {
      declineCode: 'x',
      retryAfterSeconds: 3,
      violations: [{ loc: ['body', '0'], msg: 'm', type: 't' }],
    });
    const received = fromConnectError(toConnectError(sent));
    expect(received).toMatchObject({
      code,
      detail: sent.detail,
      declineCode: 'x',
      retryAfterSeconds: 3,
      violations: sent.violations,
    });
    expect(toConnectError(sent).code).toBe(failureTable[code].rpc);
  });

  test('leaves its cause behind', () => {
    const sent = new Failure('internal', { cause: new Error('password=secret') });
    const error = toConnectError(sent);
    expect(error.cause).toBeUndefined();
    expect(error.message).not.toContain('secret');
    expect(fromConnectError(error)?.message).not.toContain('secret');
  });

  test('is not made of other errors, nor of codes that are not ours', () => {
    expect(fromConnectError(new Error('x'))).toBeUndefined();
    expect(fromConnectError(new ConnectError('x', Code.Unavailable))).toBeUndefined();
    expect(isFailureCode('toString')).toBe(false);
  });
});
