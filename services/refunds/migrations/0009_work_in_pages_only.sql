-- eligo: contract
-- Due work is found in pages (due_refund_work_after), and nobody asks for it in one piece any more.
drop function refunds.due_refund_work(integer);
