-- The pages of a PDF, counted before it is uploaded. Null for images, which are a page each, and for files of earlier releases.
alter table refunds.evidence_files add column pages smallint;
alter table refunds.evidence_files add constraint evidence_has_pages check (pages between 1 and 50) not valid;
grant update (pages) on refunds.evidence_files to eligo_refunds;
