-- Whether the partner ended the trial with `trial_end: "now"`. The first period is then charged, also of a subscription that is to end with its period. A process of the release
-- before sets it for none.
alter table subscriptions add column trial_cut_short boolean not null default false;
alter table subscriptions add constraint only_a_trial_is_cut_short check (not trial_cut_short or trial_end is not null) not valid;
