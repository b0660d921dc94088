-- Whether these mails were turned off with all others, by `--notice-name none`: the next name turns them on again. An opt-out of its own stays, and so do those of earlier releases, which do not tell the two apart.
alter table billing.authentication_notices add column off_with_all boolean not null default false;
