-- The next try is the first of the days that are left, and the last one ends the dunning. A row that an operator wrote before stays: its days are sorted when it is read.
alter table dunning_settings add constraint retry_days_ascend check (
  array_ndims(retry_days) = 1 and array_lower(retry_days, 1) = 1 and array_position(retry_days, null) is null and 60 >= all (retry_days)
  and (retry_days[1] < retry_days[2]) is not false and (retry_days[2] < retry_days[3]) is not false and (retry_days[3] < retry_days[4]) is not false
  and (retry_days[4] < retry_days[5]) is not false and (retry_days[5] < retry_days[6]) is not false and (retry_days[6] < retry_days[7]) is not false
  and (retry_days[7] < retry_days[8]) is not false and (retry_days[8] < retry_days[9]) is not false and (retry_days[9] < retry_days[10]) is not false
) not valid;
