-- A dispute holds the money of its card: the trigger on payment intents refuses a refund of that. Over the whole session the same sum refused refunds of
-- the other card, where the disputed card was refunded before or its bank disputes more than it gave.
drop trigger refuse_disputed_refund on checkout.sessions;
