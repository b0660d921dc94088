alter table prorations validate constraint unpaid_within_credit;
alter table prorations validate constraint lapsed_within_unpaid;
