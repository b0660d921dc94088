-- one_notice_of_a_kind_a_day holds what is left of it.
alter table billing.notice_mails drop constraint if exists one_notice_a_day;
