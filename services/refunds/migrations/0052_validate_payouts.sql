-- Every balance transaction is checked, under a lock that lets others read and write.
alter table refunds.balance_transactions validate constraint balance_transactions_payout_fkey;
