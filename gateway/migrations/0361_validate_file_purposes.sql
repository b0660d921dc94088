alter table gateway.files validate constraint files_purpose_check;
