-- eligo: no-transaction
-- The sandbox's account of an account and mode is computed (packages/processor/src/processor-account.ts). By these an event of the sandbox finds
-- whose it is.
create unique index concurrently if not exists accounts_by_sandbox_test_account on gateway.accounts
  (('acct_' || left(encode(sha256(decode('test:' || account_id, 'escape')), 'hex'), 24)));
create unique index concurrently if not exists accounts_by_sandbox_live_account on gateway.accounts
  (('acct_' || left(encode(sha256(decode('live:' || account_id, 'escape')), 'hex'), 24)));
