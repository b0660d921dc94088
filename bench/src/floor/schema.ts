/** The tables of the floor: what each write must keep, a primary key each, and nothing else. */
export const floorSchema = `
  drop schema if exists bench_floor cascade;
  create schema bench_floor;
  set search_path = bench_floor;
  create table keys (account_id text, key text, request_hash text not null, status integer, body text,
    created_at timestamptz not null default now(), primary key (account_id, key));
  create table sessions (account_id text, id text, status text not null, customer_id text, payment_method_id text, success_url text,
    amount_total bigint not null, amount_eligible bigint not null, amount_received bigint not null default 0,
    amount_refunded bigint not null default 0, details jsonb not null, created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(), primary key (account_id, id));
  create table session_lines (account_id text, session_id text, position integer, price_id text not null, name text not null,
    quantity integer not null, amount bigint not null, is_eligible boolean not null, primary key (account_id, session_id, position));
  create table eligibility_records (account_id text, id text, session_id text not null, decision jsonb not null,
    created_at timestamptz not null default now(), primary key (account_id, id));
  create table intents (account_id text, id text, session_id text not null, amount bigint not null, status text not null,
    created_at timestamptz not null default now(), primary key (account_id, id));
  create table attempts (account_id text, id text, subject_id text not null, status text not null, processor_id text,
    created_at timestamptz not null default now(), updated_at timestamptz not null default now(), primary key (account_id, id));
  create table charges (account_id text, id text, intent_id text not null, amount bigint not null, amount_refunded bigint not null default 0,
    processor_id text, created_at timestamptz not null default now(), primary key (account_id, id));
  create table refunds (account_id text, id text, session_id text not null, amount bigint not null, status text not null,
    created_at timestamptz not null default now(), primary key (account_id, id));
  create table ledger (account_id text, id text, side text, account text not null, amount bigint not null,
    created_at timestamptz not null default now(), primary key (account_id, id, side));
  create table subscriptions (account_id text, id text, status text not null, customer_id text not null, payment_method_id text,
    period_start timestamptz not null, period_end timestamptz not null, invoice_id text, primary key (account_id, id));
  create table invoices (account_id text, id text, subscription_id text not null, number bigint not null, status text not null, total bigint not null,
    paid bigint not null default 0, intent_id text, period_start timestamptz not null, period_end timestamptz not null,
    created_at timestamptz not null default now(), paid_at timestamptz, primary key (account_id, id));
  create table invoice_lines (account_id text, invoice_id text, position integer, price_id text not null, name text not null,
    quantity integer not null, amount bigint not null, decision jsonb not null, primary key (account_id, invoice_id, position));
  create table outbox (event_id text primary key, aggregate_id text not null, type text not null, account_id text not null,
    payload text not null, created_at timestamptz not null default now(), published_at timestamptz);`;
