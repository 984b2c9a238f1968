#include "graph/op_kinds.h"

#include <algorithm>
#include <sstream>
#include <unordered_map>

namespace solmark::graph {
namespace {

struct Row {
  OpKind kind;
  const char* names;
};

constexpr Row kRows[] = {
    {OpKind::kFactory,
     "zeros ones full empty empty_strided new_zeros new_ones new_full new_empty new_empty_strided zeros_like "
     "ones_like "
     "full_like empty_like arange linspace logspace eye rand randn randint randperm rand_like randn_like "
     "randint_like "
     "normal uniform random exponential cauchy geometric log_normal zero fill scalar_tensor tril_indices "
     "triu_indices hann_window hamming_window blackman_window bartlett_window kaiser_window empty_permuted"},
    {OpKind::kPointwise,
     "abs neg exp exp2 expm1 log log2 log10 log1p sqrt rsqrt reciprocal sin cos tan asin acos atan sinh cosh "
     "tanh asinh "
     "acosh atanh erf erfc erfinv lgamma digamma sigmoid logit relu relu6 leaky_relu elu selu celu gelu silu "
     "mish "
     "hardtanh hardswish hardsigmoid softplus softshrink hardshrink tanhshrink log_sigmoid "
     "log_sigmoid_forward "
     "threshold clamp clamp_min clamp_max clip round floor ceil trunc fix frac sign sgn signbit add sub rsub "
     "mul div "
     "true_divide floor_divide fmod remainder pow maximum minimum fmax fmin atan2 hypot xlogy copysign lerp "
     "addcmul "
     "addcdiv eq ne lt le gt ge logical_xor logical_not bitwise_xor bitwise_not bitwise_left_shift "
     "bitwise_right_shift __lshift__ __rshift__ isnan isinf isfinite isposinf isneginf nan_to_num _to_copy "
     "clone "
     "contiguous square polar complex conj_physical _conj_physical angle ldexp logaddexp logaddexp2 "
     "nextafter sinc i0 i0e special_i0 special_i1 special_erfcx special_log_ndtr special_ndtri "
     "special_xlog1py "
     "special_entr special_expit gelu_backward silu_backward sigmoid_backward tanh_backward "
     "softplus_backward "
     "mish_backward elu_backward leaky_relu_backward hardswish_backward logit_backward positive "
     "_prelu_kernel prelu "
     "float_power deg2rad rad2deg view_copy alias_copy lift_fresh_copy detach_copy squeeze_copy "
     "unsqueeze_copy "
     "rrelu exp_ relu_ real_copy imag_copy _fake_quantize_per_tensor_affine_cachemask"},
    {OpKind::kCopyInto, "copy"},
    {OpKind::kWhole,
     "sum mean prod amax amin aminmax max min argmax argmin std var std_mean var_mean norm "
     "linalg_vector_norm nansum "
     "nanmean count_nonzero logsumexp _softmax softmax _log_softmax log_softmax _safe_softmax cumsum cumprod "
     "cummax "
     "cummin _cummax_helper _cummin_helper logcumsumexp sort topk kthvalue median nanmedian mode argsort "
     "msort "
     "_softmax_backward_data _log_softmax_backward_data _fft_r2c _fft_c2c _fft_c2r roll flip repeat "
     "repeat_interleave "
     "pixel_shuffle pixel_unshuffle channel_shuffle reflection_pad1d reflection_pad2d reflection_pad3d "
     "replication_pad1d replication_pad2d replication_pad3d diag_embed mse_loss smooth_l1_loss huber_loss "
     "binary_cross_entropy binary_cross_entropy_with_logits kl_div cross _cdist_forward _pdist_forward dist "
     "cov "
     "corrcoef linalg_inv_ex linalg_det _linalg_det _linalg_slogdet linalg_lu_factor_ex linalg_qr "
     "_linalg_svd "
     "linalg_matrix_exp _linalg_solve_ex trapezoid diff renorm _adaptive_avg_pool2d _adaptive_avg_pool3d "
     "adaptive_avg_pool1d adaptive_max_pool2d adaptive_max_pool3d _local_scalar_dense "
     "native_batch_norm_backward "
     "native_group_norm_backward channels_last histc permute_copy transpose_copy t_copy expand_copy "
     "unbind_copy "
     "split_copy split_with_sizes_copy cosine_similarity pairwise_distance"},
    {OpKind::kRowwise,
     "native_layer_norm layer_norm native_group_norm group_norm native_batch_norm _native_batch_norm_legit "
     "_native_batch_norm_legit_functional _native_batch_norm_legit_no_training _batch_norm_with_update "
     "_batch_norm_no_update cudnn_batch_norm miopen_batch_norm batch_norm _fused_rms_norm rms_norm "
     "instance_norm"},
    {OpKind::kSelect, "where masked_fill threshold_backward hardtanh_backward hardsigmoid_backward"},
    {OpKind::kTriangle, "tril triu"},
    {OpKind::kConcatenate, "cat concat stack"},
    {OpKind::kPad, "constant_pad_nd"},
    {OpKind::kGather, "index_select gather index embedding take _unsafe_index"},
    {OpKind::kScatter,
     "index_copy index_put _index_put_impl _unsafe_index_put scatter index_fill masked_scatter put"},
    {OpKind::kScatterAdd, "index_add scatter_add"},
    {OpKind::kSliceScatter, "slice_scatter select_scatter"},
    {OpKind::kContraction,
     "mm bmm addmm baddbmm addbmm matmul linear mv addmv dot vdot outer ger addr einsum _scaled_mm _int_mm "
     "_addmm_activation"},
    {OpKind::kConvolution,
     "convolution _convolution cudnn_convolution mkldnn_convolution conv1d conv2d conv3d "
     "convolution_overrideable"},
    {OpKind::kConvolutionBackward, "convolution_backward"},
    {OpKind::kAttention,
     "scaled_dot_product_attention _scaled_dot_product_flash_attention "
     "_scaled_dot_product_flash_attention_for_cpu "
     "_scaled_dot_product_efficient_attention _scaled_dot_product_cudnn_attention"},
    {OpKind::kPool,
     "max_pool1d max_pool2d max_pool3d max_pool1d_with_indices max_pool2d_with_indices "
     "max_pool3d_with_indices "
     "avg_pool1d avg_pool2d avg_pool3d"},
    {OpKind::kLogical, "logical_and logical_or bitwise_and bitwise_or"},
    {OpKind::kReadsNone,
     "any all native_dropout _fused_dropout dropout bernoulli multinomial nonzero unique _unique2 unique_dim "
     "unique_consecutive masked_select searchsorted bucketize grid_sampler_2d grid_sampler_3d "
     "upsample_nearest1d "
     "upsample_nearest2d upsample_nearest3d upsample_bilinear2d upsample_bicubic2d im2col col2im "
     "nll_loss_forward "
     "nll_loss2d_forward isin scatter_reduce index_reduce bincount allclose equal is_same_size sym_size "
     "_assert_async "
     "_embedding_bag embedding_dense_backward fractional_max_pool2d"},
};

const std::unordered_map<std::string, OpKind>& kinds() {
  static const auto* table = [] {
    auto* map = new std::unordered_map<std::string, OpKind>;
    for (const auto& row : kRows) {
      std::istringstream names(row.names);
      for (std::string name; names >> name;) map->emplace(name, row.kind);
    }
    return map;
  }();
  return *table;
}

}  // namespace

std::string base_name(const Op& op) {
  std::string name = op.name();
  if (name.size() > 1 && name.back() == '_' && name[name.size() - 2] != '_') name.pop_back();
  return name;
}

OpKind op_kind(const Op& op) {
  if (op.op.rfind("aten.", 0) != 0) return OpKind::kUnknown;
  const auto found = kinds().find(base_name(op));
  return found == kinds().end() ? OpKind::kUnknown : found->second;
}

bool is_view(const OpGraph& graph, const Op& op) {
  if (!op.mutates.empty() || op.outputs.empty()) return false;
  std::vector<int> storages;
  for (const int id : tensor_arguments(op)) storages.push_back(graph.tensor(id).storage);
  return std::all_of(op.outputs.begin(), op.outputs.end(), [&](const std::optional<int>& output) {
    return !output ||
           std::find(storages.begin(), storages.end(), graph.tensor(*output).storage) != storages.end();
  });
}

}  // namespace solmark::graph
