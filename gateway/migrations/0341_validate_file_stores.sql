alter table gateway.files validate constraint files_store_check;
