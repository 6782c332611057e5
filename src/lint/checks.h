#pragma once
/// The check functions of the table, by family.
#include "check.h"

namespace calkit::lint {

// 01 files and hashes
void check_file_missing(Check& check);
void check_file_size(Check& check);
void check_file_hash(Check& check);
void check_unlisted_file(Check& check);
void check_path_escape(Check& check);
void check_path_collision(Check& check);
void check_empty_file(Check& check);
void check_digest_format(Check& check);
// 02 description, numbers, versions
void check_metadata_readable(Check& check);
void check_duplicate_key(Check& check);
void check_unknown_key(Check& check);
void check_required_field(Check& check);
void check_field_type(Check& check);
void check_schema(Check& check);
void check_number_range(Check& check);
void check_version(Check& check);
void check_runtime(Check& check);
void check_limits(Check& check);
/// The rule that tells why calbin.json could not be read at all.
std::string_view rule_of_unreadable(const Facts& facts);
// 03 submodel type and name
void check_submodel_type(Check& check);
void check_type_against_use(Check& check);
void check_model_name(Check& check);
void check_submodel_present(Check& check);
void check_submodel_twins(Check& check);
// 04 contract with the service manifest
void check_batch(Check& check);
void check_context(Check& check);
void check_vocab(Check& check);
void check_chip_masks(Check& check);
void check_dtypes(Check& check);
void check_logits_shape(Check& check);
void check_csr_binding(Check& check);
void check_tensor_binding(Check& check);
void check_architecture(Check& check);
// 05 memory and addresses
void check_inside_region(Check& check);
void check_address_overflow(Check& check);
void check_alignment(Check& check);
void check_region_overlap(Check& check);
void check_size_of_shape(Check& check);
void check_capacity(Check& check);
/// DRAM bytes that the regions of these kinds cover on one chip; bytes of nested or shared regions count once.
std::uint64_t covered_bytes(Check& check, std::int64_t chip, const std::vector<std::string_view>& kinds);
void check_kv_bytes(Check& check);
void check_op_operands(Check& check);
void check_region_parent(Check& check);
// 06 parameters
void check_param_in_file(Check& check);
void check_param_overlap(Check& check);
void check_param_region(Check& check);
// 07 aliasing
void check_ping_pong(Check& check);
void check_undeclared_alias(Check& check);
void check_declared_alias(Check& check);
void check_lifetimes(Check& check);
void check_param_written(Check& check);
// 08 units
void check_unit_present(Check& check);
void check_unit_known(Check& check);
void check_unit_plausible(Check& check);
void check_totals(Check& check);

}  // namespace calkit::lint
