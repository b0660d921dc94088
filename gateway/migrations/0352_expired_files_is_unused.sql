-- `expired_files_of_store` and `files_by_store_and_expiry` took their places in 0350 and 0351. The release before this one still uses them; the release after
-- this one drops them.
comment on function gateway.expired_files(integer) is 'Unused; expired_files_of_store took its place. The next release drops it.';
comment on index gateway.files_by_expiry is 'Unused; files_by_store_and_expiry took its place. The next release drops it.';
