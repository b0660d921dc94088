-- When the shop was told that a letter is about to end. Null: not yet, or no one uses the letter again.
alter table checkout.letters add column end_announced_at timestamptz(3);
