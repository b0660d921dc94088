-- `hold_turns` and a read of each account took its place in 0355. The release before this one still calls it; the release after this one drops it.
comment on function checkout.due_holds(timestamptz, integer, integer, text, boolean) is 'Unused; hold_turns took its place. The next release drops it.';
